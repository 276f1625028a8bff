"""The engine as its users see it: what it counts, refuses, shares and forgets."""

import asyncio
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from flare_local.engine import attention
from flare_local.engine.call import Call, Generation, Sampling, StopReason, Tokens, Whole
from flare_local.engine.engine import Engine
from flare_local.engine.output import Output
from flare_local.engine.plan import Plan, Stretch
from flare_local.errors import PoolTooSmall, PromptTooLong
from tests.engine.exactness import always, check_integrity, tiny_loaded

PROMPT = tuple(range(20, 60))


def tiny_engine(arch: str = "llama", *, lookup: int = 0, **options: Any) -> Engine:
    options = {"slots": 600, "poison": True, "speculation": always(lookup), **options}
    return Engine(tiny_loaded(arch, torch.float64), **options)


@pytest.fixture
def engine() -> Iterator[Engine]:
    with tiny_engine() as engine:
        yield engine


def run(engine: Engine, *calls: Call) -> list[Generation]:
    async def all_at_once() -> list[Generation]:
        return await asyncio.gather(*(engine.generate(call) for call in calls))

    return asyncio.run(all_at_once())


def count_tokens(engine: Engine) -> list[int]:
    """Tokens of every forward from now on, as the model itself is given them."""
    seen: list[int] = []
    engine.model.module.register_forward_pre_hook(
        lambda _, __, kwargs: seen.append(kwargs["input_ids"].numel()), with_kwargs=True
    )
    return seen


def plain(prompt: Sequence[int], count: int) -> Call:
    return Call(tuple(prompt), Tokens(count), count, stop=())


def test_the_floor_is_what_a_trie_of_ones_own_gains(engine: Engine) -> None:
    rng = random.Random(3)
    trie: set[tuple[int, ...]] = set()
    tokens = count_tokens(engine)
    useful = floor = 0
    for _ in range(15):
        call = plain([*PROMPT[: rng.randint(1, 40)], *rng.choices(range(20, 90), k=5)], 8)
        [generation] = run(engine, call)
        ids = (*call.prompt, *generation.tokens)
        gained = {ids[:end] for end in range(1, len(ids) + 1)} - trie
        trie |= gained
        assert generation.counters.floor == len(gained)
        floor += len(gained)
        useful += generation.counters.run - generation.counters.wasted
        assert generation.counters.recomputed <= 1  # a prompt that ends inside another one runs its last token again
    assert sum(tokens) >= useful
    assert useful <= floor


def test_every_token_given_to_the_model_is_counted(engine: Engine) -> None:
    tokens = count_tokens(engine)
    generations = run(engine, *(plain([*PROMPT[: 10 + i], 7 + i], 9) for i in range(8)))
    assert sum(g.counters.run for g in generations) == sum(tokens)
    assert sum(g.counters.prompt_tokens for g in generations) == sum(11 + i for i in range(8))


def test_the_same_call_twice_needs_no_forward(engine: Engine) -> None:
    [first] = run(engine, plain(PROMPT, 8))
    tokens = count_tokens(engine)
    [second] = run(engine, plain(PROMPT, 8))
    assert tokens == []
    assert (second.tokens, second.probabilities) == (first.tokens, first.probabilities)
    assert second.counters.known == 8


def test_a_prefix_that_several_calls_need_at_once_is_run_once(engine: Engine) -> None:
    tokens = count_tokens(engine)
    generations = run(engine, *(plain([*PROMPT, 7 + i], 3) for i in range(6)))
    assert sum(tokens) == 40 + 6 * 3  # the prefix, and of each call its own last prompt token and two of its output
    assert sum(g.counters.recomputed for g in generations) == 0


def test_without_reuse_every_call_runs_its_whole_prompt() -> None:
    with tiny_engine(reuse=False) as engine:
        tokens = count_tokens(engine)
        [first] = run(engine, plain(PROMPT, 4))
        [second] = run(engine, Call(PROMPT, Tokens(4), 4, stop=(), speculate=first.tokens))
        assert tokens[0] == 40
        assert sum(tokens) == 2 * 43
        assert second.counters.drafted == 0
        assert engine.pool.free.count == 600


def test_a_right_draft_is_verified_in_the_forward_that_prefills(engine: Engine) -> None:
    [draft] = run(engine, plain(PROMPT, 8))
    with tiny_engine() as fresh:
        tokens = count_tokens(fresh)
        [again] = run(fresh, Call(PROMPT, Tokens(8), 8, stop=(), speculate=draft.tokens))
    assert tokens == [40 + 7]
    assert (again.counters.drafted, again.counters.accepted, again.counters.wasted) == (7, 7, 0)
    assert again.tokens == draft.tokens


def test_a_wrong_draft_changes_nothing_and_its_slots_go_back(engine: Engine) -> None:
    [right] = run(engine, plain(PROMPT, 8))
    wrong = (*right.tokens[:3], (right.tokens[3] + 1) % 100, *right.tokens[4:])
    with tiny_engine() as fresh:
        [again] = run(fresh, Call(PROMPT, Tokens(8), 8, stop=(), speculate=wrong))
        assert again.tokens == right.tokens
        assert again.counters.accepted == 3
        assert again.counters.wasted == 4
        assert fresh.pool.free.count + fresh._loop.tree.idle == 600


def test_bias_and_bans_change_the_choice_but_not_the_probability(engine: Engine) -> None:
    [free] = run(engine, plain(PROMPT, 1))
    top = free.tokens[0]
    [banned] = run(engine, Call(PROMPT, Tokens(1), 1, stop=(), banned=frozenset([top])))
    assert banned.tokens[0] != top
    assert banned.probabilities[0] < free.probabilities[0]
    [biased] = run(engine, Call(PROMPT, Tokens(1), 1, stop=(), logit_bias={banned.tokens[0]: 100.0}))
    assert biased.tokens == banned.tokens
    assert biased.probabilities == pytest.approx(banned.probabilities)
    [after] = run(engine, plain(PROMPT, 1))
    assert (after.tokens, after.probabilities) == (free.tokens, free.probabilities)


def test_sampling_depends_on_seed_question_and_call_only() -> None:
    def sampled(engine: Engine, seed: int, question: str = "q", index: int = 0, draft: tuple[int, ...] = ()) -> Any:
        call = Call(
            PROMPT, Tokens(12), 12, stop=(), sampling=Sampling(1.5, 0.95, seed), question=question, index=index,
            speculate=draft,
        )  # fmt: skip
        return run(engine, call)[0].tokens

    with tiny_engine() as engine:
        first = sampled(engine, 1)
        others = [sampled(engine, 2), sampled(engine, 1, "r"), sampled(engine, 1, "q", 1)]
        assert all(other != first for other in others)
    with tiny_engine() as other:
        run(other, *(plain([*PROMPT[:20], i], 5) for i in range(20, 30)))
        assert sampled(other, 1, draft=first) == first  # another engine, another cache, a draft offered
        assert sampled(other, 1, draft=(*first[:4], 3, 3, 3)) == first


def test_sampling_follows_the_models_distribution() -> None:
    with tiny_engine() as engine:
        calls = [
            Call(PROMPT, Tokens(1), 1, stop=(), sampling=Sampling(1.0, 1.0, 0), question=str(i)) for i in range(4000)
        ]
        drawn = run(engine, *calls)
    seen = Counter(g.tokens[0] if g.tokens else -1 for g in drawn)
    expected = {g.tokens[0]: g.probabilities[0] for g in drawn if g.tokens}
    for token, probability in expected.items():
        spread = (probability * (1 - probability) / 4000) ** 0.5
        assert abs(seen[token] / 4000 - probability) < 5 * spread + 1e-3


def test_top_p_never_draws_from_the_tail(engine: Engine) -> None:
    [greedy] = run(engine, plain(PROMPT, 1))
    narrow = greedy.probabilities[0] * 0.99  # the nucleus is the arg max alone
    calls = [Call(PROMPT, Tokens(1), 1, stop=(), sampling=Sampling(1.0, narrow, 0), question=str(i)) for i in range(50)]
    assert {g.tokens for g in run(engine, *calls)} == {greedy.tokens}


def test_what_cannot_fit_is_refused_with_the_number_needed_before_any_work(engine: Engine) -> None:
    tokens = count_tokens(engine)
    with pytest.raises(PoolTooSmall, match="needs 640 slots; the KV pool has 600"):
        run(engine, Call(PROMPT, Whole(), 600))
    with pytest.raises(PromptTooLong, match="context"):
        run(engine, Call(PROMPT * 60, Whole(), 64))
    assert tokens == []


def test_a_pool_just_large_enough_serves_many_calls_at_once() -> None:
    calls = [plain([*PROMPT[:20], 60 + i, 61], 10) for i in range(8)]
    with tiny_engine() as ample:
        expected = run(ample, *calls)
    with tiny_engine(slots=32) as tight:
        got = run(tight, *calls)
        tight._loop.tree.check_integrity()
        tight.pool.check_integrity()
    assert [g.tokens for g in got] == [g.tokens for g in expected]
    assert sum(g.counters.evicted for g in got) > 0


def test_a_cancelled_call_lets_go_of_everything(engine: Engine) -> None:
    async def cancel_in_the_middle() -> None:
        task = asyncio.create_task(engine.generate(Call(PROMPT, Whole(), 500, stop=())))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await engine.generate(plain(PROMPT[:5], 2))

    asyncio.run(cancel_in_the_middle())
    assert engine._loop.tree.idle + engine.pool.free.count == 600
    engine._loop.tree.check_integrity()


def test_a_failing_forward_fails_its_calls_and_the_engine_goes_on(engine: Engine) -> None:
    def fail(*_: Any) -> None:
        raise RuntimeError("broken layer")

    handle = engine.model.module.register_forward_pre_hook(fail)
    with pytest.raises(RuntimeError, match="broken layer"):
        run(engine, plain(PROMPT, 4))
    handle.remove()
    [generation] = run(engine, plain(PROMPT, 4))
    assert generation.stop is StopReason.BOUNDARY
    assert engine._loop.tree.idle + engine.pool.free.count == 600


class NoHostSync(TorchDispatchMode):
    """Fails where an operation would make the host wait for the device."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.name()
        assert "_local_scalar_dense" not in name, name
        assert "nonzero" not in name, name
        assert "is_nonzero" not in name, name
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("arch", ["llama", "mistral", "gemma2", "gemma3_text", "qwen2"])
def test_no_layer_waits_for_the_device(arch: str) -> None:
    with tiny_engine(arch) as engine:
        stretches = [
            Stretch([5, 6, 7], [], [(100, 3)], [2]),
            Stretch([5], [(0, 40), (60, 5)], [(110, 1)], [0]),
            Stretch([5, 9], [(0, 40)], [(112, 1), (114, 1)], [0, 1]),
        ]
        for buffer in engine.pool.keys + engine.pool.values:
            buffer.zero_()
        context = attention.Context(engine.pool, {engine.model.device: Plan(stretches, engine.model.device)}, {})
        ids, positions = torch.tensor([[5, 6, 7, 5, 5, 9]]), torch.tensor([[0, 1, 2, 45, 40, 41]])
        keep = torch.tensor([2, 3, 4, 5])
        with torch.inference_mode(), attention.serving(context), NoHostSync():
            engine.model.module(input_ids=ids, position_ids=positions, use_cache=False, logits_to_keep=keep)


def test_a_call_whose_text_cannot_be_read_fails_alone_and_the_engine_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> Generation:
        raise ValueError("no text")

    with tiny_engine() as engine:
        with monkeypatch.context() as patch:
            patch.setattr(Output, "generation", broken)
            with pytest.raises(ValueError, match="no text"):
                run(engine, plain(PROMPT, 4))
        assert len(run(engine, plain(PROMPT, 4))) == 1
        check_integrity(engine)
