"""Explicit queries whose questions another model writes, against the oracle with two naive models."""

import asyncio
import random

import pytest
import torch

from tests.engine.exactness import ASKING, CORPUS, Pair, ask, check_integrity, trace_of
from tests.oracle.certificate import JudgingModel, Rejected, certify
from tests.oracle.options import Options
from tests.oracle.policy import answer as oracle_answer
from tests.oracle.trace import Trace, differences
from tests.tiny_models import tiny_questions

CASES = [
    (("llama", "bytes"), ("mistral", "metaspace"), torch.float64),
    (("gemma3_text", "metaspace"), ("qwen2", "bytes"), torch.float32),
]


def options_of(schedule: str, rng: random.Random) -> Options:
    return Options(
        schedule=schedule,
        query="explicit",
        theta=0.8,
        beta=rng.choice([0.4, 0.6]),
        look_ahead=12,
        max_new_tokens=24,
        query_tokens=rng.choice([64, 6]),
        **ASKING,
    )


@pytest.fixture(scope="module", params=CASES, ids=lambda case: f"{case[0][0]}-{case[1][0]}")
def pairs(request: pytest.FixtureRequest) -> tuple[Pair, Pair]:
    """The model that answers and the model that asks, each as product and oracle."""
    (arch, kind), (other, other_kind), dtype = request.param
    return Pair(arch, dtype, 9, kind), Pair(other, dtype, 4, other_kind)


def answers_of(pair: Pair, asker: Pair, schedule: str) -> list[tuple[Options, Trace]]:
    """The product's answers, with their options."""
    rng = random.Random(schedule)
    found = []
    with pair.engine() as engine, asker.engine(8192) as questions:
        for question in tiny_questions(3, 61):
            options = options_of(schedule, rng)
            answer = asyncio.run(ask(engine, options, question, asker=questions))
            written = [writing for writing in answer.writings if writing.question_model]
            assert len(written) == sum(len(step.asked) for step in answer.steps)
            assert answer.question_counters is not None
            assert answer.question_counters.calls == len(written)
            found.append((options, trace_of(answer)))
        check_integrity(engine)
        check_integrity(questions)
    assert any(len(trace["calls"]) > 2 * len(trace["steps"]) for _, trace in found)  # questions were asked
    return found


@pytest.mark.parametrize("schedule", ["paper", "released"])
def test_the_questions_are_those_of_the_other_model(pairs: tuple[Pair, Pair], schedule: str) -> None:
    pair, asker = pairs
    for options, trace in answers_of(pair, asker, schedule):
        lead = {"lead": trace, "margin": pair.margin, "asker": asker.naive}
        own = oracle_answer(pair.naive, CORPUS.search, options, trace["question"], **lead)
        assert differences(trace, own, pair.tolerance) == []
    pair.margin.check()


def test_they_are_certified_and_those_of_other_weights_are_not(pairs: tuple[Pair, Pair]) -> None:
    pair, asker = pairs
    [(options, trace), *_] = answers_of(pair, asker, "paper")
    model, spoken, asking = pair.naive.model, pair.loaded.codec.tokenizer, asker.loaded.codec.tokenizer
    judge = JudgingModel(asker.naive.model, asking)
    certificate = certify(model, spoken, CORPUS.search, options, trace, asker=judge)
    assert certificate.calls == len(trace["calls"])
    assert judge.calls > 0
    judge.model.get_output_embeddings().weight.data.mul_(1.01)
    with pytest.raises(Rejected):
        certify(model, spoken, CORPUS.search, options, trace, asker=JudgingModel(judge.model, asking))
