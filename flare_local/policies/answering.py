"""A question while it is answered: the answer so far, and the two verbs of a policy with a record of their use."""

import re
import time
from collections.abc import Callable, Mapping
from functools import partial
from hashlib import sha256

from flare_local.engine.call import Call, LanguageModel, StopReason, Tokens, Until, Whole
from flare_local.engine.counters import Counters
from flare_local.errors import UsageError
from flare_local.policies.found import Documents, interleaved, with_in_front
from flare_local.policies.prompt import Prompt, side_prompt
from flare_local.policies.rules import Rules
from flare_local.retrieval.document import Retriever
from flare_local.spans import Kind, event, span, verb
from flare_local.tasks.exemplars import Exemplars
from flare_local.trace.events import Answer, Ended, Event, Foresight, Search, Step, Writing
from flare_local.trace.step_record import step_record
from flare_local.trace.versions import versions

Observer = Callable[[Event], None]
SENTENCE_END = re.compile(r"[.?!][\"')\]]*(\s|$)")


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
        beside: int = 0,
        asker: LanguageModel | None = None,
    ) -> None:
        """`beside`: tokens that a method writes behind the answer and does not keep. `asker`: another model that writes
        what is asked beside the answer; None: `lm` does.
        """
        self.rules = rules
        self.ended: Ended | None = None
        self._method = method
        self.lm = lm
        self._asker = asker
        self.question = question
        self._retriever = retriever
        self._observe = observe
        self.prompt = Prompt(lm, question, exemplars, rules, beside)
        self.tokens: tuple[int, ...] = ()
        self.text = ""
        self.aside = Counters()  # what was read ahead, wanted or not
        self._exemplars = exemplars
        self._in_front: Documents = ()  # shown in every prompt, whatever else is
        self._uncounted = 0  # tokens that the budget does not see
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
        return self.rules.max_new_tokens - len(self.tokens) + self._uncounted

    @property
    def unit(self) -> Until:
        """What is written next: the rules' unit, or the rest of the sentence that ends the answer."""
        return self.unit_or_rest(self.rules.unit)

    def unit_or_rest(self, unit: Until) -> Until:
        """`unit`, but for a count of tokens, once `end_after` was found, the sentence that it was found in."""
        return self.rules.sentence if isinstance(unit, Tokens) and self._says_the_end() else unit

    async def first_documents(self, of_question: bool = True) -> Documents:
        """What a method begins with: the question's documents, if it searches the question.

        With `Rules.combine` they are searched in any case and stay in front of all others; none remain to begin with.
        """
        if self.rules.combine:
            self._in_front = await self.search_question()
            return ()
        return await self.search_question() if of_question and self.rules.initial_retrieval else ()

    async def search_question(self) -> Documents:
        """The documents of the question itself, whose text is never cut; a hint is no part of it."""
        asked, _ = self._exemplars.split(self.question)
        self._first_search = await self.search_whole(asked)
        self._tell(self._first_search)
        self._step_began = time.perf_counter()
        return self._first_search.documents

    async def search(self, *queries: str) -> Search:
        """Search with the last tokens of each query; what they find is interleaved by rank."""
        with span(Kind.PROMPT, "query"):
            cut = [self.lm.codec.last_tokens(query, self.rules.query_tokens) for query in queries]
        return await self.search_whole(*cut)

    async def search_whole(self, *queries: str) -> Search:
        """Search with queries as they are."""
        if self._retriever is None:
            raise UsageError(f"{self._method} searches, and there is no index.", "Give one.")
        began = time.perf_counter()
        with verb(Kind.SEARCH, "search", lambda: {"queries": list(queries)}):
            found = await self._retriever.search(queries, self.rules.top_k)
        return Search(queries, interleaved(found, self.rules.top_k), _ms_since(began))

    async def write(
        self,
        documents: Documents,
        tokens: int,
        speculate: tuple[int, ...] = (),
        *,
        until: Until | None = None,
        after: tuple[int, ...] = (),
        marks: tuple[str, ...] = (),
        logit_bias: Mapping[int, float] | None = None,
        banned: frozenset[int] = frozenset(),
    ) -> Writing:
        """The next unit after the answer so far and `after`, at most `tokens` long. `until`: another unit."""
        began = time.perf_counter()
        until = until or self.unit
        with span(Kind.PROMPT):
            prompt = self.prompt.fit(with_in_front(self._in_front, documents), self.tokens + after, tokens)
        call = Call(
            prompt.ids,
            until,
            tokens,
            marks=marks,
            speculate=speculate,
            logit_bias=logit_bias or {},
            banned=banned,
            sampling=self.rules.sampling,
        )
        with verb(Kind.WAIT, "call", lambda: {"prompt": len(prompt.ids), "draft": len(speculate)}):
            generation = await self.lm.generate(call)
        ms = _ms_since(began)
        return Writing(prompt.ids, prompt.documents, until, tokens, speculate, generation, ms, prompt.cut)

    def sentence_prompt(self, documents: Documents) -> tuple[int, ...]:
        """What the model would be given to write the next sentence with `documents`."""
        shown = with_in_front(self._in_front, documents)
        return self.prompt.fit(shown, self.tokens, self.rules.sentence_tokens(self.left)).ids

    async def ask(self, exemplars: Exemplars, case: str) -> Writing:
        """One line that is written beside the answer, after exemplars of its own; always greedy."""
        began = time.perf_counter()
        until, tokens, lm = Whole(), self.rules.look_ahead, self._asker or self.lm
        prompt = side_prompt(lm, exemplars, case, self.rules, tokens)
        with verb(Kind.WAIT, "call", lambda: {"prompt": len(prompt.ids), "draft": 0}):
            generation = await lm.generate(Call(prompt.ids, until, tokens, stop=("\n",)))
        by_asker = self._asker is not None
        return Writing(prompt.ids, (), until, tokens, (), generation, _ms_since(began), prompt.cut, by_asker)

    def keep(
        self,
        sentence: Writing,
        *,
        draft: Writing | None = None,
        triggered: bool = False,
        search: Search | None = None,
        asked: tuple[Writing, ...] = (),
        call: Writing | None = None,
        kept: int | None = None,
        counts: bool = True,
        foresight: Foresight | None = None,
    ) -> None:
        """Makes `sentence` the next of the answer, and sees whether the answer ends with it.

        `counts=False`: its tokens do not count in the budget, and it ends the answer only where it has none.
        """
        ms = _ms_since(self._step_began)
        step = Step(len(self._steps) + 1, draft, triggered, search, sentence, ms, asked, call, kept, foresight)
        self._steps.append(step)
        self.tokens += step.tokens
        self.text += step.text
        self._uncounted += 0 if counts else len(step.tokens)
        self.ended = self._reason_to_end(step.call or sentence, counts)
        self._step_began = time.perf_counter()
        event("step", lambda: {"step": partial(step_record, step)})
        self._tell(step)

    def answer(self) -> Answer:
        """What was written and how. Call it when `ended` is set."""
        assert self.ended is not None
        counters, question_counters = Counters(), Counters()
        for step in self._steps:
            for writing in step.writings:
                (question_counters if writing.question_model else counters).add(writing.generation.counters)
        counters.add(self.aside)
        searches = [step.search for step in self._steps]
        counters.search_ms = sum(search.ms for search in (self._first_search, *searches) if search is not None)
        counters.total_ms = _ms_since(self._began)
        return Answer(
            question=self.question,
            method=self._method,
            schedule=self.rules.schedule.name,
            text=self.text.strip(),
            stop_reason=self.ended,
            search=self._first_search,
            steps=tuple(self._steps),
            counters=counters,
            question_counters=None if self._asker is None else question_counters,
            config={
                **self.rules.as_dict(),
                "exemplars": self._exemplars.count,
                "exemplars_sha256": sha256(repr(self._exemplars).encode()).hexdigest(),
            },
            versions=versions(),
        )

    def _reason_to_end(self, last: Writing, counts: bool) -> Ended | None:
        stopped = last.generation.stop in (StopReason.EOS, StopReason.STOP)
        if stopped and (counts or not last.tokens):
            return Ended(last.generation.stop.value)
        if self._ends_after(last):
            return Ended.END_AFTER
        if len(self._steps) == self.rules.max_sentences:
            return Ended.MAX_SENTENCES
        return Ended.LENGTH if self.left <= 0 else None

    def _says_the_end(self) -> re.Match[str] | None:
        return None if self.rules.end_after is None else re.search(self.rules.end_after, self.text)

    def _ends_after(self, last: Writing) -> bool:
        """Whether the sentence that `end_after` is found in is complete: not so where a search call broke it off, or
        a count of tokens did."""
        found = self._says_the_end()
        if found is None or last.generation.stop is StopReason.MARK:
            return False
        return not isinstance(last.until, Tokens) or SENTENCE_END.search(self.text, found.start()) is not None

    def _tell(self, told: Event) -> None:
        if self._observe is not None:
            with span(Kind.OUTPUT):
                self._observe(told)


def _ms_since(began: float) -> float:
    return (time.perf_counter() - began) * 1000
