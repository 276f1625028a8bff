"""A question while it is answered: the answer so far, and the two verbs of a policy with a record of their use."""

import re
import time
from collections.abc import Callable
from hashlib import sha256

from flare_local.engine.call import LanguageModel, StopReason
from flare_local.engine.counters import Counters
from flare_local.errors import UsageError
from flare_local.policies.prompt import Prompt
from flare_local.policies.rules import Rules
from flare_local.retrieval.document import Document, Retriever
from flare_local.tasks.exemplars import Exemplars
from flare_local.trace.events import Answer, Ended, Event, Search, Step, Writing
from flare_local.trace.versions import versions

Documents = tuple[Document, ...]
Observer = Callable[[Event], None]


class Answering:
    """Holds y, the kept tokens of the answer; grows by one step a sentence until `ended` is set."""

    def __init__(
        self,
        method: str,
        lm: LanguageModel,
        retriever: Retriever | None,
        question: str,
        exemplars: Exemplars,
        rules: Rules,
        observe: Observer | None,
    ) -> None:
        self.rules = rules
        self.ended: Ended | None = None
        self._method = method
        self._lm = lm
        self._retriever = retriever
        self._question = question
        self._observe = observe
        self._prompt = Prompt(lm, question, exemplars, rules)
        self._exemplars = exemplars
        self._tokens: tuple[int, ...] = ()
        self._text = ""
        self._first_search: Search | None = None
        self._steps: list[Step] = []
        self._began = self._step_began = time.perf_counter()

    @property
    def first(self) -> bool:
        """Whether no sentence is written yet."""
        return not self._steps

    @property
    def left(self) -> int:
        """Tokens that the answer may still have."""
        return self.rules.max_new_tokens - len(self._tokens)

    async def search_question(self) -> Documents:
        """The documents of the question itself, whose text is never cut; a hint is no part of it."""
        asked, _ = self._exemplars.split(self._question)
        self._first_search = await self._search(asked)
        self._tell(self._first_search)
        self._step_began = time.perf_counter()
        return self._first_search.documents

    async def search(self, query: str) -> Search:
        """Search with the last tokens of `query`."""
        return await self._search(self._lm.last_tokens(query, self.rules.query_tokens))

    async def write(self, documents: Documents, tokens: int, speculate: tuple[int, ...] = ()) -> Writing:
        """The next unit after the answer so far, at most `tokens` long."""
        began = time.perf_counter()
        prompt = self._prompt.fit(documents, self._tokens, tokens)
        generation = await self._lm.generate(
            prompt.ids,
            until=self.rules.unit,
            max_new_tokens=tokens,
            speculate=speculate,
            sampling=self.rules.sampling,
        )
        return Writing(
            prompt.ids,
            prompt.documents,
            self.rules.unit,
            tokens,
            speculate,
            generation,
            _ms_since(began),
            prompt.cut,
        )

    def keep(
        self, sentence: Writing, draft: Writing | None = None, triggered: bool = False, search: Search | None = None
    ) -> None:
        """Makes `sentence` the next of the answer, and sees whether the answer ends with it."""
        step = Step(len(self._steps) + 1, draft, triggered, search, sentence, _ms_since(self._step_began))
        self._steps.append(step)
        self._tokens += sentence.tokens
        self._text += sentence.text
        self.ended = self._reason_to_end(sentence)
        self._step_began = time.perf_counter()
        self._tell(step)

    def answer(self) -> Answer:
        """What was written and how. Call it when `ended` is set."""
        assert self.ended is not None
        counters = Counters()
        for step in self._steps:
            for writing in step.writings:
                counters.add(writing.generation.counters)
        searches = [step.search for step in self._steps]
        counters.search_ms = sum(search.ms for search in (self._first_search, *searches) if search is not None)
        counters.total_ms = _ms_since(self._began)
        return Answer(
            question=self._question,
            method=self._method,
            schedule=self.rules.schedule.name,
            text=self._text.strip(),
            stop_reason=self.ended,
            search=self._first_search,
            steps=tuple(self._steps),
            counters=counters,
            config={
                **self.rules.as_dict(),
                "exemplars": len(self._exemplars.examples),
                "exemplars_sha256": sha256(repr(self._exemplars).encode()).hexdigest(),
            },
            versions=versions(),
        )

    async def _search(self, query: str) -> Search:
        if self._retriever is None:
            raise UsageError(f"{self._method} searches, and there is no index.", "Give one.")
        began = time.perf_counter()
        (found,) = await self._retriever.search([query], self.rules.top_k)
        return Search((query,), tuple(found), _ms_since(began))

    def _reason_to_end(self, sentence: Writing) -> Ended | None:
        if not sentence.tokens or sentence.generation.stop in (StopReason.EOS, StopReason.STOP):
            return Ended(sentence.generation.stop.value)
        if self.rules.end_after is not None and re.search(self.rules.end_after, self._text):
            return Ended.END_AFTER
        if len(self._steps) == self.rules.max_sentences:
            return Ended.MAX_SENTENCES
        return Ended.LENGTH if self.left <= 0 else None

    def _tell(self, event: Event) -> None:
        if self._observe is not None:
            self._observe(event)


def _ms_since(began: float) -> float:
    return (time.perf_counter() - began) * 1000
