"""Single calls of the engine against the naive oracle: proposals of all kinds, units, stop strings, biases, budgets."""

import asyncio
import random
from collections.abc import Callable, Iterator

import pytest
import torch

from flare_local.engine.call import Call, Generation
from flare_local.engine.engine import Engine
from tests.engine.exactness import Pair, check_integrity, until_of
from tests.oracle.naive import Output
from tests.oracle.unit import PARAGRAPH, SENTENCE, WHOLE, Unit
from tests.tiny_models import tiny_questions

CASES = [("qwen2", "bytes"), ("gemma2", "metaspace"), ("gpt_oss", "bytes"), ("gpt2", "bytes")]


@pytest.fixture(scope="module", params=CASES, ids=lambda case: "-".join(case))
def pair(request: pytest.FixtureRequest) -> Pair:
    arch, kind = request.param
    return Pair(arch, torch.float64, 3, kind)


@pytest.fixture
def engine(pair: Pair) -> Iterator[Engine]:
    with pair.engine(1024, max_forward_tokens=32) as engine:
        yield engine
        check_integrity(engine)


def prompts(pair: Pair, count: int, seed: int = 5) -> list[tuple[int, ...]]:
    naive = pair.naive
    texts = [f"Question: {question}\nAnswer:" for question in tiny_questions(count, seed)]
    return [(*naive.bos, *naive.encode(text)) for text in texts]


def generate(
    engine: Engine, prompt: tuple[int, ...], unit: Unit = SENTENCE, limit: int = 64, **options: object
) -> Generation:
    call = Call(prompt, until_of(unit), limit, **options)  # type: ignore[arg-type]
    return asyncio.run(engine.question("q").generate(call))


def assert_same(got: Generation, own: Output) -> None:
    assert (got.tokens, got.text, got.pieces, got.stop.value) == (own.tokens, own.text, own.pieces, own.stop)
    assert got.probabilities == pytest.approx(own.probabilities, abs=1e-6)
    assert (got.eos_probability is None) == (own.eos_probability is None)
    assert got.eos_probability == pytest.approx(own.eos_probability, abs=1e-6)


Proposal = Callable[[random.Random, tuple[int, ...], tuple[int, ...], int, int], tuple[int, ...]]

# What may be proposed, given what is kept, what is generated before the cut (EOS included), the vocabulary and EOS.
PROPOSALS: dict[str, Proposal] = {
    "nothing": lambda rng, kept, full, size, eos: (),
    "what is kept": lambda rng, kept, full, size, eos: kept,
    "the whole look-ahead": lambda rng, kept, full, size, eos: full,
    "the start of it": lambda rng, kept, full, size, eos: kept[: rng.randint(1, max(1, len(kept)))],
    "one wrong token": lambda rng, kept, full, size, eos: _changed(rng, full, size),
    "one token left out": lambda rng, kept, full, size, eos: full[: len(full) // 2] + full[len(full) // 2 + 1 :],
    "other tokens": lambda rng, kept, full, size, eos: tuple(rng.choices(range(size), k=rng.randint(1, 30))),
    "EOS in the middle": lambda rng, kept, full, size, eos: (*kept[: len(kept) // 2], eos, *kept[len(kept) // 2 :]),
    "EOS at the end": lambda rng, kept, full, size, eos: (*full, eos),
    "far too many": lambda rng, kept, full, size, eos: full + tuple(rng.choices(range(size), k=300)),
}


def _changed(rng: random.Random, tokens: tuple[int, ...], size: int) -> tuple[int, ...]:
    at = rng.randrange(len(tokens))
    return (*tokens[:at], (tokens[at] + 1) % size, *tokens[at + 1 :])


@pytest.mark.parametrize("name", PROPOSALS)
def test_proposals_never_change_the_output(pair: Pair, engine: Engine, name: str) -> None:
    rng = random.Random(name)
    eos = min(pair.loaded.eos_ids)
    accepted = 0
    for prompt in prompts(pair, 4):
        for limit in (64, 7):
            own = pair.naive.generate(prompt, SENTENCE, limit)
            proposal = PROPOSALS[name](rng, own.tokens, own.generated, pair.loaded.vocab_size, eos)
            got = generate(engine, prompt, limit=limit, speculate=proposal)
            assert_same(got, own)
            accepted += got.counters.accepted
            assert_same(generate(engine, prompt, limit=limit, speculate=proposal), own)  # from what is known
    assert (accepted > 0) == (name not in ("nothing", "other tokens"))


UNITS = [SENTENCE, Unit("sentence", 1), Unit("sentence", 30), PARAGRAPH, Unit("tokens", 1), Unit("tokens", 6), WHOLE]


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: f"{unit.kind}-{unit.value}")
def test_units_and_budgets(pair: Pair, engine: Engine, unit: Unit) -> None:
    for prompt in prompts(pair, 4, seed=6):
        for limit in (1, 2, 6, 40):
            assert_same(generate(engine, prompt, unit, limit), pair.naive.generate(prompt, unit, limit))


# Strings that begin inside tokens, at a sentence's end and across it, and that are longer than a word.
STOPS = [(), ("\n",), (".",), (". ",), ("e", "an"), (" t",), ("on",), (".\n",), ("r b", "d. A", "zz")]


@pytest.mark.parametrize("stops", STOPS, ids=repr)
@pytest.mark.parametrize("unit", [SENTENCE, PARAGRAPH, WHOLE], ids=lambda unit: unit.kind)
def test_stop_strings(pair: Pair, engine: Engine, unit: Unit, stops: tuple[str, ...]) -> None:
    for prompt in prompts(pair, 4, seed=7):
        own = pair.naive.generate(prompt, unit, 40, stops)
        assert_same(generate(engine, prompt, unit, 40, stop=stops), own)


# Marks that are common, that begin inside tokens, and that lie across a sentence's end.
MARKS = [("on",), (". A",), (" the", "e"), (".\n",), ("r b", "d. A", "zz")]


@pytest.mark.parametrize("marks", MARKS, ids=repr)
@pytest.mark.parametrize("unit", [SENTENCE, PARAGRAPH, WHOLE], ids=lambda unit: unit.kind)
def test_marks_beside_stop_strings(pair: Pair, engine: Engine, unit: Unit, marks: tuple[str, ...]) -> None:
    for prompt in prompts(pair, 4, seed=7):
        for stops in ((), ("e ",)):
            own = pair.naive.generate(prompt, unit, 40, stops, marks=marks)
            assert_same(generate(engine, prompt, unit, 40, stop=stops, marks=marks), own)


def test_a_generation_ends_right_behind_the_first_mark_and_keeps_it(pair: Pair, engine: Engine) -> None:
    for prompt in prompts(pair, 4, seed=7):
        free = pair.naive.generate(prompt, WHOLE, 40, ())
        mark = free.text[5:8]
        got = generate(engine, prompt, WHOLE, 40, stop=(), marks=(mark,))
        assert got.stop == "mark"
        assert mark in got.text
        assert mark not in "".join(got.pieces[:-1])


def test_stop_string_that_is_in_the_text_across_the_end_of_a_sentence(pair: Pair, engine: Engine) -> None:
    """Made of the model's own words: whatever the early stop has seen, the stop string has the last word."""
    found = 0
    for prompt in prompts(pair, 6, seed=8):
        free = pair.naive.generate(prompt, SENTENCE, 48, ())
        whole = pair.naive.text_of.text([t for t in free.generated if t not in pair.naive.eos])
        end = len(free.text)
        for begin, length in ((end - 3, 6), (end - 1, 12), (end, 9), (end + 1, 8), (end - 2, 25), (end + 3, 5)):
            stop = whole[begin : begin + length]
            if begin < 0 or len(stop) < length or "\ufffd" in stop:
                continue
            own = pair.naive.generate(prompt, SENTENCE, 48, (stop,))
            assert_same(generate(engine, prompt, SENTENCE, 48, stop=(stop,)), own)
            found += 1
    assert found > 10


def test_bias_and_ban_change_the_choice_and_not_the_probabilities(pair: Pair, engine: Engine) -> None:
    rng = random.Random(9)
    changed = 0
    for prompt in prompts(pair, 4, seed=9):
        free = pair.naive.generate(prompt, SENTENCE, 24)
        banned = frozenset(free.generated[1:3])
        bias = {token: rng.uniform(-20, 20) for token in rng.sample(range(pair.loaded.vocab_size), 8)}
        own = pair.naive.generate(prompt, SENTENCE, 24, bias=bias, banned=banned)
        got = generate(engine, prompt, limit=24, logit_bias=bias, banned=banned, speculate=free.generated)
        assert_same(got, own)
        assert_same(generate(engine, prompt, limit=24), free)  # nothing of the bias is remembered
        changed += own.tokens != free.tokens
    assert changed


def test_calls_after_every_kind_of_prefix(pair: Pair) -> None:
    """Prompts that are cut off, continued and branched at every place, in a pool that holds little more than one."""
    rng = random.Random(11)
    base = prompts(pair, 1, seed=11)[0]
    text = base + pair.naive.generate(base, WHOLE, 40, ()).generated
    text = tuple(token for token in text if token not in pair.naive.eos)
    with pair.engine(len(text) + 24, max_forward_tokens=7) as engine:
        for _ in range(60):
            prompt = text[: rng.randint(1, len(text))]
            if rng.random() < 0.3:
                prompt += (rng.randrange(pair.loaded.vocab_size),)
            limit = rng.randint(1, 16)
            proposal = text[len(prompt) :][: rng.randint(0, 20)]
            got = generate(engine, prompt, limit=limit, speculate=proposal)
            assert_same(got, pair.naive.generate(prompt, SENTENCE, limit))
            check_integrity(engine)


def test_without_reuse_nothing_is_reused_and_all_is_equal(pair: Pair) -> None:
    with pair.engine(1024, reuse=False) as engine:
        for prompt in prompts(pair, 2, seed=12) * 2:
            got = generate(engine, prompt)
            assert_same(got, pair.naive.generate(prompt, SENTENCE, 64))
            assert got.counters.reused == 0
            assert got.counters.run >= len(prompt)


def test_ties_go_to_the_lowest_id() -> None:
    """A softcap far below the logits makes every positive one exactly equal."""
    tied = Pair("gemma2", torch.float64, 4)
    for module in (tied.loaded.module, tied.naive.model):
        with torch.no_grad():
            module.get_output_embeddings().weight.mul_(1e5)
    prompt = prompts(tied, 1)[0]
    logits = tied.naive.logits(prompt)
    assert (logits == logits.max()).sum() > 10
    with tied.engine() as engine:
        got = generate(engine, prompt, WHOLE, 12)
    assert_same(got, tied.naive.generate(prompt, WHOLE, 12))
    assert got.tokens[0] == int((logits == logits.max()).nonzero()[0])
