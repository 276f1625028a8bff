"""Engine and policies against the naive oracle, on every architecture, in fp64 and fp32.

Options, questions and pools are drawn at random, each architecture with its own seed. A meter over all of it fails
where something that must be compared hardly ever happened.
"""

import asyncio
import json
import random

import pytest
import torch

from flare_local.trace.json import answer_line
from tests.engine.exactness import CORPUS, Meter, Pair, ask, check_integrity, random_options, slots_needed, splits
from tests.oracle.certificate import Rejected, certify
from tests.oracle.margin import Margin
from tests.oracle.options import Options
from tests.oracle.trace import from_json
from tests.tiny_models import ARCHITECTURES, tiny_model, tiny_questions, tiny_tokenizer

KINDS = ("bytes", "metaspace")
METER = Meter()
SEEN: set[tuple[str, torch.dtype]] = set()
MARGIN = Margin()  # of all fp32 answers together


def compare_in_turn(arch: str, dtype: torch.dtype, rounds: int, seed: int) -> None:
    """Several questions on one engine with room, then again on one with hardly any."""
    rng = random.Random(f"{arch} {seed}")
    kind = KINDS[(list(ARCHITECTURES).index(arch) + seed) % 2]
    pair = Pair(arch, dtype, seed, kind, margin=None if dtype == torch.float64 else MARGIN)
    cases = [(random_options(rng), question) for question in tiny_questions(rounds, rng.randrange(1000))]
    with pair.engine(max_forward_tokens=rng.choice([16, 512]), lookup=rng.choice([0, 4])) as engine:
        answers = [pair.answer(engine, options, question, METER) for options, question in cases]
        assert sum(a.counters.evicted for a in answers) == 0
        assert sum(a.counters.recomputed for a in answers) == 0
        METER.counts["node splits"] += splits(engine)
        check_integrity(engine)
    with pair.engine(
        slots_needed(answers) + rng.choice([0, 0, 20]),
        max_forward_tokens=rng.choice([5, 64]),
        lookup=rng.choice([0, 4]),
    ) as engine:
        for options, question in cases:
            pair.answer(engine, options, question, METER)
        check_integrity(engine)
    SEEN.add((arch, dtype))


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_fp64_answers_are_the_oracles(arch: str) -> None:
    compare_in_turn(arch, torch.float64, rounds=4, seed=0)


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_fp32_answers_are_the_oracles_within_the_margin(arch: str) -> None:
    compare_in_turn(arch, torch.float32, rounds=2, seed=1)


def test_near_ties_in_fp32_are_rare() -> None:
    MARGIN.check()


def test_meter_everything_was_compared_often_enough() -> None:
    if {(arch, dtype) for arch in ARCHITECTURES for dtype in (torch.float64, torch.float32)} != SEEN:
        pytest.skip("only a part of the suite ran")
    print(METER.counts, MARGIN.decisions, len(MARGIN.cases))
    assert len(ARCHITECTURES) >= 20
    assert METER.share("drafts ended by a boundary", "drafts") >= 0.4
    assert METER.share("triggered", "drafts") >= 0.2
    assert METER.share("not triggered", "drafts") >= 0.2
    often = {
        "drafts accepted in full": 5,
        "drafts accepted in part": 10,
        "drafts accepted not at all": 20,
        "node splits": 100,
        "evictions": 100,
        "EOS in a draft": 10,
        "cut inside a token": 50,
        "empty queries": 20,
        "no hits": 20,
        "window exceeded": 100,
        "calls ended by stop": 10,
        "calls ended by length": 20,
        **{f"ended by {reason}": 5 for reason in ("eos", "stop", "length", "end_after", "max_sentences")},
    }
    rare = {what: METER.counts[what] for what, least in often.items() if METER.counts[what] < least}
    assert not rare, f"hardly ever compared: {rare}"


@pytest.mark.parametrize("schedule", ["paper", "released"])
def test_json_trace_is_enough_to_certify_an_answer(schedule: str) -> None:
    """What `ask --json --trace` prints, read by the oracle, judged by a model loaded anew."""
    options = Options(schedule=schedule, theta=0.2, beta=0.5, max_new_tokens=48)
    pair = Pair("qwen3", torch.float32, 2)
    with pair.engine() as engine:
        for question in tiny_questions(3, 9):
            answer = asyncio.run(ask(engine, options, question))
            trace = from_json(json.loads(answer_line(answer, full=True)))
            judge = tiny_model("qwen3", torch.float32, 2)
            certify(judge, tiny_tokenizer(), CORPUS.search, options, trace, full_every=2)
            trace["calls"][0]["probabilities"][0] += 2e-4
            with pytest.raises(Rejected):
                certify(judge, tiny_tokenizer(), CORPUS.search, options, trace)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 8))
@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_many_more_answers(arch: str, seed: int) -> None:
    compare_in_turn(arch, (torch.float64, torch.float32)[seed % 2], rounds=6, seed=seed)
