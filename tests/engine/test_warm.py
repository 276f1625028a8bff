"""A warm start changes no answer: engine and policies against the naive oracle, and what it counts, evicts, shares."""

import asyncio
import random
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from flare_local.engine.call import Call, Generation, Tokens
from flare_local.engine.engine import Engine
from flare_local.engine.speculation import NO_SPECULATION
from flare_local.errors import PoolTooSmall, UsageError
from flare_local.policies.methods import METHODS
from flare_local.policies.rules import Rules
from flare_local.policies.shared_prefix import shared_prefixes
from flare_local.trace.events import Answer
from tests.engine.exactness import (
    EXAMPLES,
    SEARCH_SKILL,
    Pair,
    ask,
    check_integrity,
    exemplars_of,
    random_options,
    rules_of,
    slots_needed,
    tiny_loaded,
)
from tests.oracle.floor import ForwardMeter, TokenTrie
from tests.oracle.margin import Margin
from tests.oracle.options import Options
from tests.tiny_models import WINDOW, tiny_questions

ARCHITECTURES = ("llama", "mistral", "gemma3_text", "gpt_oss", "qwen2", "gpt2")  # windows, sinks, learned positions
SHOWN = {"instruction": "Be brief.", "examples": EXAMPLES, "titles": False}
LONG, OTHER = tuple(range(20, 60)), (20, 21, *range(70, 90))


def prefixes(engine: Engine, options: Options) -> tuple[tuple[int, ...], ...]:
    """What all prompts begin with under these options."""
    return shared_prefixes(METHODS[options.method], engine.question(""), exemplars_of(options), rules_of(options))


def snapshot_of(pair: Pair, path: Path, *options: Options) -> Path:
    """A snapshot that serves all these options, made by an engine of its own."""
    with pair.engine(max_forward_tokens=64) as engine:
        engine.save_warm(path, [ids for each in options for ids in prefixes(engine, each)])
    return path


def total(answers: Sequence[Answer], counter: str) -> int:
    return sum(getattr(answer.counters, counter) for answer in answers)


@pytest.mark.parametrize(
    ("arch", "dtype"),
    [(arch, torch.float64) for arch in ARCHITECTURES] + [(arch, torch.float32) for arch in ARCHITECTURES[:3]],
)
def test_answers_after_a_warm_start_are_the_oracles(arch: str, dtype: torch.dtype, tmp_path: Path) -> None:
    rng = random.Random(f"warm {arch}")
    pair = Pair(arch, dtype, 3, margin=None if dtype == torch.float64 else Margin())
    common = {**SHOWN, "schedule": rng.choice(["paper", "released"]), "first_sentence": "judge"}
    cases = [
        (replace(random_options(rng), **common, look_ahead=24, max_new_tokens=32), question)
        for question in tiny_questions(2, 61)
    ]
    path = snapshot_of(pair, tmp_path / "warm", *(options for options, _ in cases))
    with pair.engine(max_forward_tokens=rng.choice([16, 512])) as engine:
        assert engine.warm(path) > WINDOW
        answers = [pair.answer(engine, options, question) for options, question in cases]
        for answer, (options, _) in zip(answers, cases, strict=True):
            assert answer.counters.warm == len(answer.writings) * len(prefixes(engine, options)[0])
            assert answer.counters.reused >= answer.counters.warm
        assert total(answers, "recomputed") == total(answers, "evicted") == 0
        check_integrity(engine)
    slots = slots_needed(answers)
    with pair.engine(slots, max_forward_tokens=16) as engine:
        engine.warm(path)
        first = pair.answer(engine, *cases[0])
        run(engine, plain([*range(5, 15)] * (slots // 10 - 1)))  # pushes all that was warm out
        second = pair.answer(engine, *cases[1])
        check_integrity(engine)
    assert first.counters.warm > 0
    assert second.counters.evicted > 0
    assert second.counters.recomputed > 0


def test_one_file_serves_several_methods(tmp_path: Path) -> None:
    pair = Pair("qwen3", torch.float64, 3)
    common = {"theta": 0.3, "max_new_tokens": 40, "look_ahead": 24}
    several = [
        Options(method="flare_direct", **SHOWN, **common),
        Options(method="single_time", **SHOWN, **common),
        Options(method="flare_instruct", **{**SHOWN, **SEARCH_SKILL}, **common),
    ]
    path = snapshot_of(pair, tmp_path / "warm", *several)
    with pair.engine() as engine:
        engine.warm(path)
        assert len(engine.warmed) == 2  # two of the methods begin alike
        for options in several:
            assert pair.answer(engine, options, tiny_questions(1, 62)[0]).counters.warm > 0


def test_prompts_of_explicit_queries_are_warm_too(tmp_path: Path) -> None:
    pair = Pair("llama", torch.float64, 3)
    with pair.engine(context=None) as engine:
        lm, method = engine.question(""), METHODS["flare_direct"]
        exemplars, rules = exemplars_of(Options(**SHOWN)), rules_of(Options(query="explicit"))
        own = shared_prefixes(method, lm, exemplars, rules)
        assert len(own) == 2
        assert (
            len(shared_prefixes(method, lm, exemplars, rules_of(Options(query="explicit", schedule="released")))) == 3
        )
        assert shared_prefixes(method, lm, exemplars, rules, writes_questions=False) == own[:1]
        assert shared_prefixes(METHODS["single_time"], lm, exemplars_of(Options()), Rules()) == ()
        assert engine.save_warm(tmp_path / "warm", own)


def test_equal_chunks_give_equal_bits(tmp_path: Path) -> None:
    """The same forwards over the same rows: whatever the dtype, not one bit differs."""
    options = Options(theta=0.3, max_new_tokens=48, **SHOWN)
    question = tiny_questions(1, 63)[0]
    for dtype in (torch.float32, torch.bfloat16):
        model = tiny_loaded("mistral", dtype, 3)
        with Engine(model, slots=2048) as engine:
            shared = prefixes(engine, options)[0]
        chunk = max(size for size in range(1, 65) if len(shared) % size == 0)
        with Engine(model, slots=2048, max_forward_tokens=chunk, speculation=NO_SPECULATION) as engine:
            engine.save_warm(tmp_path / "warm", [shared])
        with Engine(model, slots=2048, max_forward_tokens=chunk, speculation=NO_SPECULATION) as engine:
            cold = asyncio.run(ask(engine, options, question))
        with Engine(model, slots=2048, max_forward_tokens=chunk, speculation=NO_SPECULATION) as engine:
            engine.warm(tmp_path / "warm")
            warm = asyncio.run(ask(engine, options, question))
        said = [[(w.tokens, w.generation.probabilities) for w in answer.writings] for answer in (cold, warm)]
        assert said[0] == said[1]
        assert cold.counters.run - warm.counters.run == len(shared)


# -- what it counts ---------------------------------------------------------------------------------------------------


def run(engine: Engine, *calls: Call) -> list[Generation]:
    async def all_at_once() -> list[Generation]:
        return await asyncio.gather(*(engine.generate(call) for call in calls))

    return asyncio.run(all_at_once())


def plain(prompt: Sequence[int], count: int = 4) -> Call:
    return Call(tuple(prompt), Tokens(count), count, stop=())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with tiny_engine() as engine:
        engine.save_warm(tmp_path / "warm", [LONG, OTHER])
    return tmp_path / "warm"


def tiny_engine(slots: int = 400, **options: bool) -> Engine:
    return Engine(tiny_loaded("llama", torch.float64), slots=slots, poison=True, **options)


def test_only_what_is_not_warm_goes_through_the_model(path: Path) -> None:
    with tiny_engine() as engine:
        engine.warm(path)
        meter = ForwardMeter(engine.model.module)
        calls = [plain([*LONG, 5, 6, 7]), plain([*LONG[:17], 5, 6]), plain([*OTHER, 9]), plain([5, *LONG])]
        generations = run(engine, *calls)
        meter.close()
        assert [g.counters.warm for g in generations] == [40, 17, 22, 0]
        assert [g.counters.run for g in generations] == [6, 5, 4, 44]
        assert sum(g.counters.run for g in generations) == meter.tokens
        trie = TokenTrie()
        floor = trie.add_calls((c.prompt, g.tokens) for c, g in zip(calls, generations, strict=True))
        assert sum(g.counters.floor for g in generations) == floor
        assert [g.counters.useful for g in generations] == [g.counters.run for g in generations]
        assert sum(g.counters.recomputed for g in generations) == 0
        check_integrity(engine)


def test_tokens_computed_behind_a_warm_prefix_are_not_warm(path: Path) -> None:
    with tiny_engine() as engine:
        engine.warm(path)
        [first] = run(engine, plain([*LONG, 5, 6, 7]))
        [second] = run(engine, plain([*LONG, 5, 6, 8]))
        assert (second.counters.reused, second.counters.warm) == (42, 40)
        [third] = run(engine, plain([*LONG, 5, 6, 7, *first.tokens, 9]))
        assert third.counters.warm == 40
        assert third.counters.reused >= 46


def test_what_was_computed_before_stays_and_is_not_warm(path: Path) -> None:
    with tiny_engine() as engine:
        run(engine, plain(LONG[:30]))
        assert engine.warm(path) == 60 - 30
        [generation] = run(engine, plain([*LONG, 5]))
        assert (generation.counters.reused, generation.counters.warm) == (40, 10)
        check_integrity(engine)


def test_a_prompt_that_ends_inside_a_warm_prefix_runs_its_last_token_for_its_logits(path: Path) -> None:
    with tiny_engine() as engine:
        [cold] = run(engine, plain(LONG[:25]))
    with tiny_engine() as engine:
        engine.warm(path)
        [warm] = run(engine, plain(LONG[:25]))
        assert warm.tokens == cold.tokens
        assert (warm.counters.warm, warm.counters.run) == (25, 4)


# -- what the pool has room for ---------------------------------------------------------------------------------------


def test_a_warm_prefix_is_evicted_like_any_other_and_computed_again(path: Path) -> None:
    others = [plain([*range(100 + 9 * i, 150 + 9 * i)]) for i in range(6)]
    with tiny_engine() as engine:
        [expected] = run(engine, plain([*LONG, 5]))
    with tiny_engine(slots=100) as engine:
        engine.warm(path)
        for call in others:
            run(engine, call)
        check_integrity(engine)
        [again] = run(engine, plain([*LONG, 5]))
        assert again.counters.warm < 40
        assert again.counters.recomputed == 40 - again.counters.reused
        assert (again.tokens, again.probabilities) == (expected.tokens, pytest.approx(expected.probabilities, abs=1e-6))
        assert engine.warm(path) > 0
        check_integrity(engine)


def test_a_pool_smaller_than_the_snapshot_is_refused(path: Path) -> None:
    with tiny_engine(slots=60) as engine:
        with pytest.raises(PoolTooSmall, match=r"need 61 slots; the KV pool has 60.*--kv-memory above 1MiB"):
            engine.warm(path)
        assert engine.pool.free.count == 60
    with tiny_engine(slots=61) as engine:
        assert engine.warm(path) == 60


def test_without_reuse_a_snapshot_is_refused(path: Path) -> None:
    with tiny_engine(reuse=False) as engine:
        with pytest.raises(UsageError, match="--no-reuse"):
            engine.warm(path)
        with pytest.raises(UsageError, match="--no-reuse"):
            engine.save_warm(path, [LONG])


def test_it_may_be_loaded_while_calls_run(path: Path) -> None:
    calls = [plain([*LONG[: 5 + i], 7 + i], 12) for i in range(12)]
    with tiny_engine() as engine:
        expected = run(engine, *calls)
    with tiny_engine(slots=130) as engine:
        loads: list[int] = []

        def load_it() -> None:
            for _ in range(5):
                try:
                    loads.append(engine.warm(path))
                except PoolTooSmall:  # calls on their way hold too much
                    loads.append(0)

        thread = threading.Thread(target=load_it)
        thread.start()
        got = run(engine, *calls)
        thread.join()
        check_integrity(engine)
        engine.pool.check_integrity()
    assert [g.tokens for g in got] == [g.tokens for g in expected]
    assert len(loads) == 5


def test_where_calls_hold_too_much_it_is_refused_and_all_of_them_end(path: Path) -> None:
    async def both(engine: Engine) -> Generation:
        task = asyncio.create_task(engine.generate(plain([5, *range(100, 160)], 100)))
        while engine.pool.free.count > 50:
            await asyncio.sleep(0)
        with pytest.raises(PoolTooSmall, match="other calls leave"):
            await asyncio.to_thread(engine.warm, path)
        return await task

    with tiny_engine(slots=165) as engine:
        generation = asyncio.run(both(engine))
        assert len(generation.tokens) == 100
        check_integrity(engine)
