"""One question being answered by the reference program: its prompt, its two verbs, its trace, its end."""

import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tests.oracle.margin import Margin
from tests.oracle.naive import Output
from tests.oracle.options import Options
from tests.oracle.prompt import Passage, documents_block, question_block, shots_block
from tests.oracle.trace import Trace, call_entry
from tests.oracle.unit import SENTENCE, Unit

Search = Callable[[str, int], Sequence[Passage]]
SPARE = 2  # tokens that the released program's calls may always generate


class Run:
    """One question being answered. `lead` is the engine's trace, followed only where `margin` allows it."""

    def __init__(
        self, lm: Any, search: Search, options: Options, question: str, lead: Trace | None, margin: Margin | None
    ) -> None:
        self.lm, self.search_function, self.options = lm, search, options
        self.lead, self.margin = lead, margin or Margin(exact=True)
        block = shots_block(options.shots, options.schedule, options.titles)
        self.question = question
        self.head = [*lm.bos, *lm.encode(block)]
        self.case = lm.encode(question_block(question, options.case))
        self.answer: list[int] = []
        self.texts: list[str] = []
        self.kept_passages: list[Passage] = []  # in front of all others
        self.uncounted = 0  # tokens of the answer that the budget does not see
        self.trace: Trace = {"question": question, "calls": [], "searches": [], "steps": []}

    def generate(
        self,
        passages: Sequence[Passage],
        limit: int,
        unit: Unit | None = None,
        after: Sequence[int] = (),
        marks: tuple[str, ...] = (),
        bias: Mapping[int, float] | None = None,
        banned: frozenset[int] = frozenset(),
    ) -> Output:
        """[E, D, x, y] and onwards; `after`: ids behind y that are not of the answer."""
        taken = {passage.id for passage in self.kept_passages if passage.id}
        shown = [*self.kept_passages, *(passage for passage in passages if passage.id not in taken)]
        block = documents_block(shown, self.options.schedule, self.options.titles)
        prompt = [*self.head, *self.lm.encode(block), *self.case, *self.answer, *after]
        return self.call(prompt, limit, unit or self.options.unit, self.options.stops, marks, bias, banned)

    def call(
        self,
        prompt: list[int],
        limit: int,
        unit: Unit,
        stops: tuple[str, ...],
        marks: tuple[str, ...] = (),
        bias: Mapping[int, float] | None = None,
        banned: frozenset[int] = frozenset(),
    ) -> Output:
        """One call of the model, with its entry in the trace."""
        calls = self.trace["calls"]
        led = self.led_call(len(calls))
        output: Output = self.lm.generate(
            prompt, unit, limit, stops, bias=bias, banned=banned, marks=marks, lead=led, margin=self.margin
        )
        calls.append(call_entry(prompt, limit, output))
        return output

    def led_call(self, at: int) -> Any:
        """The engine's call number `at`, where its trace has one."""
        return self.lead["calls"][at] if self.lead and at < len(self.lead["calls"]) else None

    def search(self, *queries: str) -> list[Passage]:
        """The best passages for the queries: rank 1 of each, rank 2 of each, and so on, none twice."""
        lists = [list(self.search_function(query, self.options.top_k)) for query in queries]
        found: list[Passage] = []
        for rank in range(self.options.top_k):
            for passages in lists:
                if rank < len(passages) and passages[rank].id not in [p.id for p in found if p.id]:
                    found.append(passages[rank])
        found = found[: self.options.top_k]
        documents = [passage.id for passage in found]
        self.trace["searches"] += [{"query": query, "documents": documents} for query in queries]
        return found

    def first_search(self, wanted: bool = True) -> list[Passage]:
        """What the method's first call sees, beside the passages that are always kept."""
        if self.options.combine:
            self.kept_passages = self.search(self.question)
            return []
        return self.search(self.question) if wanted and self.options.initial_retrieval else []

    def step(self, triggered: bool, queries: Sequence[str] = ()) -> None:
        self.trace["steps"].append({"triggered": triggered, "queries": list(queries)})

    def accept(self, sentence: Output) -> str | None:
        """Takes a sentence into the answer; the reason where the answer ends with it."""
        self.take(sentence.tokens, sentence.text)
        if not sentence.tokens or sentence.stop in ("eos", "stop"):
            return sentence.stop
        return self.ended_after()

    def take(self, tokens: Sequence[int], text: str) -> None:
        """Lengthens the answer."""
        self.answer += tokens
        self.texts.append(text)

    def ended_after(self) -> str | None:
        """Whether the answer now holds what it is to end with."""
        if self.options.end_after and re.search(self.options.end_after, self.lm.text_of.text(self.answer)):
            return "end_after"
        return None

    def exhausted(self) -> str | None:
        """The reason why no further sentence may begin."""
        if self.options.max_sentences is not None and len(self.texts) >= self.options.max_sentences:
            return "max_sentences"
        return "length" if self.left() <= 0 else None

    def left(self) -> int:
        return self.options.max_new_tokens - len(self.answer) + self.uncounted

    @property
    def least(self) -> int:
        """Tokens that a call may generate whatever is left."""
        return 1 if self.options.schedule == "paper" else SPARE

    @property
    def sentences(self) -> Unit:
        """The unit, or sentences where it is something else."""
        return self.options.unit if self.options.unit.kind == "sentence" else SENTENCE

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
        theirs = next(iter(self._led_step("queries") or []), None)
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
