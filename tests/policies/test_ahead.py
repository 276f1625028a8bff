"""Searching ahead changes no answer; what it costs and what it hides is counted."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
import torch

from flare_local.api import flare_direct
from flare_local.engine.engine import Engine
from flare_local.policies.methods import METHODS
from flare_local.policies.rules import SCHEDULES, Rules
from flare_local.retrieval.document import Document
from flare_local.tasks.exemplars import NONE
from flare_local.trace.events import Answer, Foresight
from tests.engine.exactness import CorpusRetriever, tiny_loaded
from tests.tiny_models import tiny_questions

QUESTIONS = tiny_questions(6, 61)


class SlowRetriever(CorpusRetriever):
    """Each search takes `wait` seconds."""

    def __init__(self, wait: float) -> None:
        self.wait = wait
        self.queries: list[str] = []

    async def search(self, queries: Sequence[str], k: int) -> list[list[Document]]:
        self.queries += queries
        await asyncio.sleep(self.wait)
        return await super().search(queries, k)


class WaitingRetriever(CorpusRetriever):
    """The searches of the answer itself end when all that was begun beside them has ended, however long it takes."""

    def __init__(self) -> None:
        self.asking = asyncio.current_task()

    async def search(self, queries: Sequence[str], k: int) -> list[list[Document]]:
        found = await super().search(queries, k)
        here = asyncio.current_task()
        while here is self.asking and (others := asyncio.all_tasks() - {here}):
            await asyncio.wait(others)
        return found


def rules(ahead: bool, schedule: str = "paper") -> Rules:
    return Rules(
        schedule=SCHEDULES[schedule],
        theta=0.7,
        beta=0.2,
        top_k=1,
        max_new_tokens=60,
        look_ahead=24,
        search_ahead=ahead,
    )


def answers(rules: Rules, wait: float = 0.0, reuse: bool = True) -> tuple[list[Answer], SlowRetriever, int]:
    """Answers one after the other, the retriever, and the tokens that went through the model."""
    model = tiny_loaded("mistral", torch.float64, 3)
    retriever, run = SlowRetriever(wait), 0

    def count(module: Any, positional: Any, named: Any) -> None:
        nonlocal run
        run += named["input_ids"].numel()

    with Engine(model, slots=8192, reuse=reuse) as engine:
        model.module.register_forward_pre_hook(count, with_kwargs=True)
        return [flare_direct(engine, retriever, question, rules=rules) for question in QUESTIONS], retriever, run


def told(answer: Answer) -> list[object]:
    steps = [
        (
            step.triggered,
            step.search and (step.search.queries, [document.id for document in step.search.documents]),
            [(w.prompt, w.tokens, w.generation.stop) for w in step.writings],
        )
        for step in answer.steps
    ]
    return [answer.text, answer.stop_reason, *steps]


def foresights(answers: Sequence[Answer]) -> list[Foresight]:
    return [step.foresight for answer in answers for step in answer.steps if step.foresight is not None]


@pytest.mark.parametrize("schedule", ["paper", "released"])
@pytest.mark.parametrize("wait", [0.0, 0.05])
def test_answers_are_the_same(schedule: str, wait: float) -> None:
    plain, asked, _ = answers(rules(False, schedule))
    ahead, searched, run = answers(rules(True, schedule), wait)
    assert [told(answer) for answer in ahead] == [told(answer) for answer in plain]
    for one, other in zip(ahead, plain, strict=True):
        for w, v in zip(one.writings, other.writings, strict=True):
            assert w.generation.probabilities == pytest.approx(v.generation.probabilities, abs=1e-6)
    assert foresights(plain) == []
    seen = foresights(ahead)
    assert any(each.kept for each in seen)
    assert len(asked.queries) + sum(each.searches for each in seen) <= len(searched.queries)
    assert sum(answer.counters.run for answer in ahead) == run  # what was read in vain is counted too
    # Per answer it may be negative: what one read in vain another can need, as documents stand before the question.
    assert sum(answer.counters.wasted for answer in ahead) >= 0


def test_reading_is_hidden_behind_a_slow_search() -> None:
    ahead, _, _ = answers(rules(True), wait=0.2)
    kept = [step for answer in ahead for step in answer.steps if step.foresight is not None and step.foresight.kept]
    assert kept
    assert all(step.foresight is not None and step.foresight.hidden_ms > 0 for step in kept)


@pytest.mark.parametrize("schedule", ["paper", "released"])
def test_what_is_read_ahead_is_read_to_its_end_and_not_again(schedule: str) -> None:
    async def answers() -> list[Answer]:
        with Engine(tiny_loaded("mistral", torch.float64, 3), slots=8192) as engine:
            method = METHODS["flare_direct"].answer
            return [
                await method(engine.question(question), WaitingRetriever(), question, NONE, rules(True, schedule), None)
                for question in QUESTIONS
            ]

    steps = [step for answer in asyncio.run(answers()) for step in answer.steps]
    kept = [step for step in steps if step.foresight is not None and step.foresight.kept]
    assert len(kept) > 3
    for step in kept:
        assert step.sentence.generation.counters.reused >= len(step.sentence.prompt) - 1


def test_without_reuse_nothing_is_read_ahead() -> None:
    ahead, _, run = answers(rules(True), reuse=False)
    plain, _, naive = answers(rules(False), reuse=False)
    assert [told(answer) for answer in ahead] == [told(answer) for answer in plain]
    assert run == naive
