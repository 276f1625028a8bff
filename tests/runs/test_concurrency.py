"""A question's result does not depend on what runs beside it, before it, or on how full the pool is."""

import asyncio
import random
from collections.abc import Sequence

import pytest
import torch

from flare_local.api import flare_direct
from flare_local.engine.engine import Engine
from flare_local.engine.pool_use import PoolUse
from flare_local.policies.rules import SCHEDULES, Rules
from flare_local.retrieval.document import Document
from flare_local.runs.at_once import Outcome, answer_all
from flare_local.runs.questions import Asked
from flare_local.trace.events import Answer
from tests.engine.exactness import CorpusRetriever, tiny_loaded
from tests.tiny_models import tiny_questions

QUESTIONS = [Asked(f"q{number}", text, number) for number, text in enumerate(tiny_questions(16, 41), 1)]
AMPLE = 16384  # slots


class SlowRetriever(CorpusRetriever):
    """Each search takes 200 ms; it knows how many run at a time."""

    WAIT = 0.2  # seconds

    def __init__(self) -> None:
        self.now = self.most = self.all = 0

    async def search(self, queries: Sequence[str], k: int) -> list[list[Document]]:
        self.now, self.all = self.now + 1, self.all + 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(self.WAIT)
        self.now -= 1
        return await super().search(queries, k)


def answers(
    rules: Rules,
    concurrency: int,
    questions: Sequence[Asked] = QUESTIONS,
    slots: int = AMPLE,
    forward: int = 128,
    dtype: torch.dtype = torch.float64,
    reuse: bool = True,
) -> tuple[dict[str, Answer], PoolUse]:
    """Answers by id, and what the pool was needed for."""
    found: dict[str, Answer] = {}

    def take(outcome: Outcome) -> None:
        assert isinstance(outcome.result, Answer), outcome.result
        found[outcome.asked.id] = outcome.result

    with Engine(tiny_loaded("mistral", dtype, 3), slots=slots, max_forward_tokens=forward, reuse=reuse) as engine:

        async def answer(one: Asked) -> Answer:
            return await flare_direct.answer(engine, CorpusRetriever(), one.question, rules=rules)

        asyncio.run(answer_all(questions, answer, take, concurrency=concurrency))
        return found, engine.pool_use


def told(answer: Answer) -> list[object]:
    """Everything that must be equal: texts, tokens, decisions, queries, documents."""
    steps = [
        (
            step.triggered,
            step.accepted,
            step.search and (step.search.queries, [document.id for document in step.search.documents]),
            [(writing.prompt, writing.tokens, writing.generation.stop) for writing in step.writings],
        )
        for step in answer.steps
    ]
    return [answer.text, answer.stop_reason, *steps]


def probabilities(answer: Answer) -> list[float]:
    return [p for writing in answer.writings for p in writing.generation.probabilities]


def assert_equal(one: dict[str, Answer], other: dict[str, Answer]) -> None:
    assert one.keys() == other.keys()
    for id, answer in one.items():
        assert told(answer) == told(other[id]), id
        assert probabilities(answer) == pytest.approx(probabilities(other[id]), abs=1e-6)


@pytest.mark.parametrize("schedule", ["paper", "released"])
def test_answers_are_the_same_at_any_concurrency_in_any_order_and_in_a_tight_pool(schedule: str) -> None:
    rules = Rules(schedule=SCHEDULES[schedule], theta=0.5, max_new_tokens=48, look_ahead=24)
    alone, _ = answers(rules, 1)
    assert sum(len(answer.searches) for answer in alone.values()) > len(QUESTIONS)
    largest = max(len(w.prompt) + w.max_new_tokens for a in alone.values() for w in a.writings)
    for concurrency in (4, 16):
        assert_equal(alone, answers(rules, concurrency)[0])
        shuffled = random.Random(concurrency).sample(QUESTIONS, len(QUESTIONS))
        tight, _ = answers(rules, concurrency, shuffled, slots=largest + 40, forward=24)
        assert sum(answer.counters.evicted for answer in tight.values()) > 0
        assert_equal(alone, tight)


def test_sampled_answers_are_the_same_at_any_concurrency() -> None:
    from flare_local.engine.call import Sampling

    rules = Rules(theta=0.5, max_new_tokens=40, sampling=Sampling(temperature=0.8, top_p=0.95, seed=4))
    assert_equal(answers(rules, 1)[0], answers(rules, 16)[0])


def test_searches_run_while_other_questions_decode() -> None:
    rules = Rules(theta=0.6, max_new_tokens=40)
    retriever = SlowRetriever()
    running: list[tuple[str, int]] = []  # a step was written while so many searches were under way

    with Engine(tiny_loaded("mistral", torch.float64, 3), slots=AMPLE) as engine:

        async def answer(one: Asked) -> Answer:
            return await flare_direct.answer(
                engine, retriever, one.question, rules=rules, observe=lambda _: running.append((one.id, retriever.now))
            )

        done: list[Outcome] = []
        asyncio.run(answer_all(QUESTIONS[:8], answer, done.append, concurrency=8))
    assert all(isinstance(outcome.result, Answer) for outcome in done)
    assert retriever.all > 8
    assert retriever.most == 8  # the searches for the questions themselves, all at the same time
    assert sum(now > 0 for _, now in running) > len(running) / 2


def test_the_peak_of_the_pool_counts_shared_prefixes_once() -> None:
    rules = Rules(theta=0.5, max_new_tokens=24)
    _, one = answers(rules, 1)
    _, many = answers(rules, 8)
    _, naive = answers(rules, 8, reuse=False)
    assert one.in_use == one.separate < many.in_use < many.separate
    assert many.in_use <= many.held <= many.slots == AMPLE
    assert naive.in_use == naive.separate == naive.held
