"""The methods as a Python program calls them: at once, asynchronously, streaming, or for many questions.

from flare_local import Engine, LuceneIndex, Rules, flare_direct

with Engine.load("some/model") as engine, LuceneIndex.open("my-index") as index:
    answer = flare_direct(engine, index, "Who built the harbour bridge?", rules=Rules(theta=0.6))
    print(answer.text, answer.counters.reused)
"""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from flare_local.policies.answering import Observer
from flare_local.policies.methods import METHODS, Method
from flare_local.policies.rules import Rules
from flare_local.policies.shared_prefix import shared_prefixes
from flare_local.retrieval.document import Retriever
from flare_local.spans import question_span
from flare_local.tasks.exemplars import NONE, Exemplars
from flare_local.trace.events import Answer, Event

if TYPE_CHECKING:
    from flare_local.engine.engine import Engine
    from flare_local.served.model import ServedModel

    Model: TypeAlias = Engine | ServedModel

AT_ONCE = 16  # questions that `many` keeps in flight
DEFAULT_RULES = Rules()


@dataclass(frozen=True)
class Ask:
    """One method. Calling it answers a question and waits; the other verbs are for asynchronous programs."""

    method: Method

    def __call__(
        self,
        engine: "Model",
        index: Retriever | None,
        question: str,
        *,
        exemplars: Exemplars = NONE,
        rules: Rules = DEFAULT_RULES,
        chat: bool = False,
        question_engine: "Model | None" = None,
        observe: Observer | None = None,
    ) -> Answer:
        """Answers `question`. `observe` is called with the search for the question and then with each step.

        `chat` puts the prompt into the model's chat template. `question_engine`: another model that writes the
        questions of explicit queries; its calls are marked in the answer and counted apart. Works inside a notebook's
        event loop too. Raises `FlareError` with a text for the user.
        """
        return _wait_for(
            self.answer(
                engine,
                index,
                question,
                exemplars=exemplars,
                rules=rules,
                chat=chat,
                question_engine=question_engine,
                observe=observe,
            )
        )

    async def answer(
        self,
        engine: "Model",
        index: Retriever | None,
        question: str,
        *,
        exemplars: Exemplars = NONE,
        rules: Rules = DEFAULT_RULES,
        chat: bool = False,
        question_engine: "Model | None" = None,
        observe: Observer | None = None,
    ) -> Answer:
        """As a call, for asynchronous programs; cancelling it ends the work."""
        lm, policy = engine.question(question, chat=chat), self.method.answer
        models = {"model": engine.model.name, "fingerprint": engine.model.fingerprint, "chat_template": chat}
        if question_engine is not None:
            policy = self.method.asked_by(question_engine.question(question, chat=chat), rules)
            asker = question_engine.model
            models |= {"question_model": asker.name, "question_model_fingerprint": asker.fingerprint}
        with question_span(question, partial(_about, self.method, rules)) as asked:
            answer = await policy(lm, index, question, exemplars, rules, observe)
            asked.note(answer=answer.text, stop=answer.stop_reason.value)
        return replace(answer, config={**models, **answer.config})

    async def stream(
        self,
        engine: "Model",
        index: Retriever | None,
        question: str,
        *,
        exemplars: Exemplars = NONE,
        rules: Rules = DEFAULT_RULES,
        chat: bool = False,
        question_engine: "Model | None" = None,
    ) -> AsyncIterator[Event | Answer]:
        """Yields the search for the question, each step as it is done, and last the answer."""
        events: asyncio.Queue[Event | None] = asyncio.Queue()
        task = asyncio.ensure_future(
            self.answer(
                engine,
                index,
                question,
                exemplars=exemplars,
                rules=rules,
                chat=chat,
                question_engine=question_engine,
                observe=events.put_nowait,
            )
        )
        task.add_done_callback(lambda _: events.put_nowait(None))
        try:
            while (event := await events.get()) is not None:
                yield event
            yield await task
        finally:
            task.cancel()

    async def many(
        self,
        engine: "Model",
        index: Retriever | None,
        questions: Iterable[str],
        *,
        exemplars: Exemplars = NONE,
        rules: Rules = DEFAULT_RULES,
        chat: bool = False,
        question_engine: "Model | None" = None,
        at_once: int = AT_ONCE,
    ) -> list[Answer]:
        """The answers to `questions`, in their order, up to `at_once` of them in the engine together."""
        gate = asyncio.Semaphore(at_once)

        async def one(question: str) -> Answer:
            async with gate:
                return await self.answer(
                    engine,
                    index,
                    question,
                    exemplars=exemplars,
                    rules=rules,
                    chat=chat,
                    question_engine=question_engine,
                )

        tasks = [asyncio.ensure_future(one(question)) for question in questions]
        try:
            return await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()

    def prefixes(
        self,
        engine: "Model",
        *,
        exemplars: Exemplars = NONE,
        rules: Rules = DEFAULT_RULES,
        chat: bool = False,
        question_engine: "Model | None" = None,
    ) -> tuple[tuple[int, ...], ...]:
        """Ids that every question's prompts begin with, for `engine.save_warm`; none without exemplars.

        Raises `PromptTooLong`.
        """
        lm = engine.question("", chat=chat)
        return shared_prefixes(self.method, lm, exemplars, rules, writes_questions=question_engine is None)


def _about(method: Method, rules: Rules) -> dict[str, object]:
    """What the profile of an answer shows of its settings."""
    return {"method": method.name, "schedule": rules.schedule.name, "theta": rules.theta, "beta": rules.beta}


def _wait_for(call: Coroutine[object, object, Answer]) -> Answer:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(call)
    with ThreadPoolExecutor(max_workers=1) as aside:  # this thread's loop is busy: it is what called us
        return aside.submit(asyncio.run, call).result()


no_retrieval = Ask(METHODS["no_retrieval"])
single_time = Ask(METHODS["single_time"])
previous_window = Ask(METHODS["previous_window"])
previous_sentence = Ask(METHODS["previous_sentence"])
question_decomposition = Ask(METHODS["question_decomposition"])
next_sentence = Ask(METHODS["next_sentence"])
flare_instruct = Ask(METHODS["flare_instruct"])
flare_direct = Ask(METHODS["flare_direct"])
