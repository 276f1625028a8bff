"""The methods, step by step as the rules have them, over any model that generates and any function that searches."""

import itertools
import re
from collections.abc import Callable, Sequence
from typing import Any

from tests.oracle.margin import Margin
from tests.oracle.naive import Output
from tests.oracle.options import Options
from tests.oracle.prompt import Passage, documents_block, exemplars_block, question_block
from tests.oracle.trace import Trace, call_entry

Search = Callable[[str, int], Sequence[Passage]]
SPARE = 2  # tokens that the released program's second call may always generate


class Run:
    """One question being answered. `lead` is the engine's trace, followed only where `margin` allows it."""

    def __init__(
        self, lm: Any, search: Search, options: Options, question: str, lead: Trace | None, margin: Margin | None
    ) -> None:
        self.lm, self.search_function, self.options = lm, search, options
        self.lead, self.margin = lead, margin or Margin(exact=True)
        block = exemplars_block(options.instruction, options.examples, options.schedule, options.titles)
        self.question = question
        self.head = [*lm.bos, *lm.encode(block)]
        self.case = lm.encode(question_block(question))
        self.answer: list[int] = []
        self.texts: list[str] = []
        self.trace: Trace = {"question": question, "calls": [], "searches": [], "steps": []}

    def generate(self, passages: Sequence[Passage], limit: int) -> Output:
        """[E, D, x, y] and onwards."""
        block = documents_block(passages, self.options.schedule, self.options.titles)
        prompt = [*self.head, *self.lm.encode(block), *self.case, *self.answer]
        calls = self.trace["calls"]
        led = self.lead["calls"][len(calls)] if self.lead and len(calls) < len(self.lead["calls"]) else None
        output: Output = self.lm.generate(
            prompt, self.options.unit, limit, self.options.stops, lead=led, margin=self.margin
        )
        calls.append(call_entry(prompt, limit, output))
        return output

    def search(self, query: str) -> list[Passage]:
        """The best passages for `query`."""
        found = list(self.search_function(query, self.options.top_k))
        self.trace["searches"].append({"query": query, "documents": [passage.id for passage in found]})
        return found

    def first_search(self) -> list[Passage]:
        return self.search(self.question) if self.options.initial_retrieval else []

    def step(self, triggered: bool, query: str | None) -> None:
        self.trace["steps"].append({"triggered": triggered, "query": query})

    def accept(self, sentence: Output) -> str | None:
        """Takes a sentence into the answer; the reason where the answer ends with it."""
        self.answer += sentence.tokens
        self.texts.append(sentence.text)
        if not sentence.tokens or sentence.stop in ("eos", "stop"):
            return sentence.stop
        if self.options.end_after and re.search(self.options.end_after, self.lm.text_of.text(self.answer)):
            return "end_after"
        return None

    def exhausted(self) -> str | None:
        """The reason why no further sentence may begin."""
        if self.options.max_sentences is not None and len(self.texts) >= self.options.max_sentences:
            return "max_sentences"
        return "length" if len(self.answer) >= self.options.max_new_tokens else None

    def left(self) -> int:
        return self.options.max_new_tokens - len(self.answer)

    def finish(self, stop: str) -> Trace:
        self.trace |= {"answer": "".join(self.texts).strip(), "stop": stop}
        return self.trace

    def _led_step(self, key: str) -> Any:
        steps = self.lead["steps"] if self.lead else []
        at = len(self.trace["steps"])
        return steps[at].get(key) if at < len(steps) else None

    def triggers(self, probabilities: Sequence[float]) -> bool:
        """Whether any probability is improbable under theta."""
        theta, strict = self.options.theta, self.options.schedule == "paper"
        own = any(p < theta if strict else p <= theta for p in probabilities)
        near = [self.margin.near(p, theta) for p in probabilities]
        theirs = self._led_step("triggered")
        if theirs is None or theirs == own or not any(near):
            return own
        self.margin.follow(f"trigger, nearest probability {min(abs(p - theta) for p in probabilities):.1e} from theta")
        return bool(theirs)

    def masked(self, draft: Output) -> str:
        """The draft with a space for each token that beta takes out; empty where nothing is left."""
        beta, strict = self.options.beta, self.options.schedule == "released"
        kept = [p > beta if strict else p >= beta for p in draft.probabilities]
        near = [i for i, p in enumerate(draft.probabilities) if self.margin.near(p, beta)]
        own = mask(draft.pieces, kept)
        theirs = self._led_step("query")
        if theirs is None or theirs == self.truncated(own):
            return own
        for flips in itertools.product([False, True], repeat=len(near)):
            other = [keep != dict(zip(near, flips, strict=True)).get(i, False) for i, keep in enumerate(kept)]
            query = mask(draft.pieces, other)
            if query != own and self.truncated(query) == theirs:
                self.margin.follow("mask, a probability next to beta")
                return query
        return own

    def truncated(self, query: str) -> str:
        """The last tokens of a query."""
        ids, most = self.lm.encode(query), self.options.query_tokens
        return query if most is None or len(ids) <= most else self.lm.text_of.text(ids[-most:]).strip()


def mask(pieces: Sequence[str], kept: Sequence[bool]) -> str:
    """Pieces that are kept, as they are; one space for each that is not."""
    return "".join(piece if keep else " " for piece, keep in zip(pieces, kept, strict=True)).strip()


def answer(
    lm: Any,
    search: Search,
    options: Options,
    question: str,
    lead: Trace | None = None,
    margin: Margin | None = None,
) -> Trace:
    """The answer of the reference program and how it came about."""
    run = Run(lm, search, options, question, lead, margin)
    if options.method != "flare_direct":
        return _plain(run)
    return _paper(run) if options.schedule == "paper" else _released(run)


def _plain(run: Run) -> Trace:
    passages = run.search(run.question) if run.options.method == "single_time" else []
    while True:
        if stop := run.exhausted():
            return run.finish(stop)
        sentence = run.generate(passages, min(run.options.look_ahead, run.left()))
        run.step(False, None)
        if stop := run.accept(sentence):
            return run.finish(stop)


def _paper(run: Run) -> Trace:
    options = run.options
    first = run.first_search()
    while True:
        if stop := run.exhausted():
            return run.finish(stop)
        limit = min(options.look_ahead, run.left())
        is_first = not run.trace["steps"]
        draft = run.generate(first if is_first else [], limit)
        if not draft.tokens:
            run.step(False, None)
            return run.finish(draft.stop)
        judged = not (is_first and options.first_sentence == "accept") and draft.text.strip() != ""
        if judged and options.theta == 1:
            triggered = True
        else:
            triggered = judged and options.theta > 0 and run.triggers(draft.probabilities)
        sentence, query = draft, None
        if triggered:
            query = run.truncated(run.masked(draft) or draft.text.strip())
            found = run.search(query)
            sentence = run.generate(found, limit)
        run.step(triggered, query)
        if stop := run.accept(sentence):
            return run.finish(stop)


def _released(run: Run) -> Trace:
    options = run.options
    passages = run.first_search()
    while True:
        if stop := run.exhausted():
            return run.finish(stop)
        draft = run.generate(passages, options.look_ahead)
        probabilities = list(draft.probabilities)
        if draft.eos_probability is not None:
            probabilities.append(draft.eos_probability)
        triggered = options.theta == 0 or run.triggers(probabilities)
        query = None
        if triggered and (masked := run.masked(draft)):
            query = run.truncated(masked)
            passages = run.search(query)
        run.step(triggered, query)
        sentence = run.generate(passages, max(SPARE, min(options.look_ahead, run.left())))
        if stop := run.accept(sentence):
            return run.finish(stop)
