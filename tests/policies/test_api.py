"""The methods as Python programs call them, over the engine with a tiny model."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace

import pytest
import torch

import flare_local
from flare_local import Exemplar, Exemplars, Rules, flare_direct, no_retrieval, single_time
from flare_local.engine.engine import Engine
from flare_local.errors import FlareError, ModelError, PromptTooLong, UsageError
from flare_local.policies.rules import QueryKind
from flare_local.trace.events import Answer, Event, Search, Step
from tests.engine.exactness import CorpusRetriever, tiny_loaded
from tests.tiny_models import CONTEXT, tiny_questions

RULES = Rules(theta=0.9, max_new_tokens=48, max_sentences=4)
INDEX = CorpusRetriever()
QUESTIONS = tiny_questions(6)


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with Engine(tiny_loaded("llama", torch.float64), slots=6000, poison=True) as engine:
        yield engine


def test_a_call_answers_and_waits(engine: Engine) -> None:
    seen: list[Event] = []
    answer = flare_direct(engine, INDEX, QUESTIONS[0], rules=RULES, observe=seen.append)
    assert answer.method == "flare_direct"
    assert seen == [answer.search, *answer.steps]
    assert answer.config["model"] == "llama"


def test_a_call_works_inside_a_running_event_loop(engine: Engine) -> None:
    async def notebook() -> Answer:
        return flare_direct(engine, INDEX, QUESTIONS[0], rules=RULES)

    assert asyncio.run(notebook()).text == flare_direct(engine, INDEX, QUESTIONS[0], rules=RULES).text


def test_a_stream_yields_search_steps_and_last_the_answer(engine: Engine) -> None:
    async def collect() -> list[Event | Answer]:
        return [event async for event in flare_direct.stream(engine, INDEX, QUESTIONS[1], rules=RULES)]

    *events, answer = asyncio.run(collect())
    assert isinstance(answer, Answer)
    assert isinstance(events[0], Search)
    assert all(isinstance(event, Step) for event in events[1:])
    assert len(events) == 1 + len(answer.steps)


def test_a_stream_that_is_left_early_ends_its_work(engine: Engine) -> None:
    async def first_event() -> int:
        stream = flare_direct.stream(engine, INDEX, QUESTIONS[1], rules=RULES)
        async for _ in stream:
            break
        await stream.aclose()
        await asyncio.sleep(0)
        return len(asyncio.all_tasks())

    assert asyncio.run(first_event()) == 1


def test_a_stream_raises_what_went_wrong(engine: Engine) -> None:
    async def collect() -> None:
        async for _ in flare_direct.stream(engine, INDEX, " "):
            pass

    with pytest.raises(UsageError, match="question is empty"):
        asyncio.run(collect())


def test_another_engine_writes_the_questions_of_explicit_queries(engine: Engine) -> None:
    explicit = replace(RULES, query=QueryKind.EXPLICIT, theta=1.0, beta=0.9)

    async def streamed(other: Engine) -> Event | Answer:
        return [
            each async for each in flare_direct.stream(engine, INDEX, QUESTIONS[0], **asked, question_engine=other)
        ][-1]

    asked = {"rules": explicit}
    with Engine(tiny_loaded("mistral", torch.float64, 1, "metaspace"), slots=6000) as other:
        answer = flare_direct(engine, INDEX, QUESTIONS[0], **asked, question_engine=other)
        [one] = asyncio.run(flare_direct.many(engine, INDEX, QUESTIONS[:1], **asked, question_engine=other))
        last = asyncio.run(streamed(other))
        with pytest.raises(UsageError, match="explicit"):
            flare_direct(engine, INDEX, QUESTIONS[0], rules=RULES, question_engine=other)
        with pytest.raises(UsageError, match="explicit"):
            single_time(engine, INDEX, QUESTIONS[0], **asked, question_engine=other)
    assert answer.question_counters is not None
    assert answer.question_counters.calls == sum(len(step.asked) for step in answer.steps) > 0
    assert answer.config["question_model"] == "mistral"
    assert isinstance(last, Answer)
    assert answer.text == one.text == last.text


def test_many_questions_get_the_answers_they_would_get_alone_in_their_order(engine: Engine) -> None:
    alone = [flare_direct(engine, INDEX, question, rules=RULES) for question in QUESTIONS]
    together = asyncio.run(flare_direct.many(engine, INDEX, QUESTIONS, rules=RULES, at_once=3))
    assert [answer.text for answer in together] == [answer.text for answer in alone]
    assert [answer.question for answer in together] == QUESTIONS


def test_one_bad_question_of_many_raises(engine: Engine) -> None:
    with pytest.raises(FlareError, match="question is empty"):
        asyncio.run(flare_direct.many(engine, INDEX, [*QUESTIONS[:2], ""], rules=RULES))


def test_the_other_methods_are_called_alike(engine: Engine) -> None:
    exemplars = Exemplars((Exemplar("Who?", "Anna."),))
    closed = no_retrieval(engine, None, QUESTIONS[0], exemplars=exemplars, rules=RULES)
    single = single_time(engine, INDEX, QUESTIONS[0], exemplars=exemplars, rules=RULES)
    assert closed.search is None
    assert single.search is not None
    assert len(single.writings[0].prompt) > len(closed.writings[0].prompt)


def test_a_prompt_longer_than_the_context_is_refused_before_any_work(engine: Engine) -> None:
    exemplars = Exemplars(instruction="the town " * CONTEXT)
    seen: list[Event] = []
    with pytest.raises(PromptTooLong, match=str(CONTEXT)):
        no_retrieval(engine, None, QUESTIONS[0], exemplars=exemplars, observe=seen.append)
    assert seen == []


def test_a_model_without_chat_template_says_so(engine: Engine) -> None:
    with pytest.raises(ModelError, match="no chat template"):
        no_retrieval(engine, None, QUESTIONS[0], chat=True)


def test_the_package_is_a_table_of_contents() -> None:
    assert all(getattr(flare_local, name) is not None for name in flare_local.__all__)
