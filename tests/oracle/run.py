"""One question being answered by the reference program: its prompt, its two verbs, its trace, its end."""

import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any

from tests.oracle.budget import LeftOut, fit
from tests.oracle.margin import Margin
from tests.oracle.naive import Output
from tests.oracle.options import Options
from tests.oracle.prompt import Passage, Shots, documents_block, question_block, shots_block
from tests.oracle.trace import Trace, call_entry
from tests.oracle.unit import SENTENCE, Unit

Search = Callable[[str, int], Sequence[Passage]]
SPARE = 2  # tokens that the released program's calls may always generate


class Run:
    """One question being answered. `lead` is the engine's trace, followed only where `margin` allows it."""

    def __init__(
        self,
        lm: Any,
        search: Search,
        options: Options,
        question: str,
        lead: Trace | None,
        margin: Margin | None,
        asker: Any = None,
    ) -> None:
        """`asker`: another model that writes the questions of explicit queries."""
        self.lm, self.search_function, self.options = lm, search, options
        self.lead, self.margin = lead, margin or Margin(exact=True)
        self.question = question
        self.known: dict[str, list[int]] = {}  # ids of texts
        self.case = lm.encode(question_block(question, options.case))
        self.answer: list[int] = []
        self.texts: list[str] = []
        self.kept_passages: list[Passage] = []  # in front of all others
        self.counted_unit = False  # whether the last unit was a number of tokens
        self.uncounted = 0  # tokens of the answer that the budget does not see
        self.trace: Trace = {"question": question, "calls": [], "searches": [], "steps": []}
        self.beside = self  # the same question, before whoever writes the questions of explicit queries
        if asker is not None:
            self.beside = copy(self)
            self.beside.lm, self.beside.known = asker, {}
            self.beside.options = replace(options, context=options.asker_context)

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
        written = [*self.answer, *after]
        ids, left_out = self.prompt(self.options.shots, shown, self.case, len(written), limit)
        unit, stops = unit or self.rest(self.options.unit), self.options.stops
        self.counted_unit = unit.kind == "tokens"
        return self.call([*ids, *written], limit, unit, stops, marks, bias, banned, left_out)

    def prompt(
        self, shots: Shots, passages: Sequence[Passage], case: Sequence[int], written: int, limit: int
    ) -> tuple[list[int], LeftOut | None]:
        """[E, D, x] as far as it fits, where `written` tokens stand behind it and `limit` more may follow."""
        options = self.options
        if options.context is None:
            return self._joined(shots, passages, case), None
        room = options.context - max(self.longest, written + limit)
        kept, shown, left_out = fit(lambda e, d: len(self._joined(e, d, case)), shots, passages, room, options.may_cut)
        return self._joined(kept, shown, case), left_out

    def _joined(self, shots: Shots, passages: Sequence[Passage], case: Sequence[int]) -> list[int]:
        titles, schedule = self.options.titles, self.options.schedule
        head, block = shots_block(shots, schedule, titles), documents_block(passages, schedule, titles)
        return [*self.lm.bos, *self.ids(head), *self.ids(block), *case]

    def ids(self, text: str) -> list[int]:
        """The ids of a text, worked out once."""
        if text not in self.known:
            self.known[text] = self.lm.encode(text)
        return self.known[text]

    @property
    def longest(self) -> int:
        """Tokens that are kept free for the answer from its first call on."""
        options, longest = self.options, self.options.max_new_tokens
        if options.schedule == "released":  # the last draft may run past it
            longest += max(options.look_ahead, SPARE) - 1
        return longest + (options.look_ahead if options.method == "flare_instruct" else 0)

    def call(
        self,
        prompt: list[int],
        limit: int,
        unit: Unit,
        stops: tuple[str, ...],
        marks: tuple[str, ...] = (),
        bias: Mapping[int, float] | None = None,
        banned: frozenset[int] = frozenset(),
        left_out: LeftOut | None = None,
    ) -> Output:
        """One call of the model, with its entry in the trace."""
        calls = self.trace["calls"]
        led = self.led_call(len(calls))
        output: Output = self.lm.generate(
            prompt, unit, limit, stops, bias=bias, banned=banned, marks=marks, lead=led, margin=self.margin
        )
        calls.append(call_entry(prompt, limit, output, left_out))
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
        return None if sentence.stop == "mark" else self.ended_after()

    def take(self, tokens: Sequence[int], text: str) -> None:
        """Lengthens the answer."""
        self.answer += tokens
        self.texts.append(text)

    def ended_after(self) -> str | None:
        """Whether the answer now holds what it is to end with, and the sentence around it."""
        if (rest := self.end_found()) is None:
            return None
        ended = re.search(r"""[.?!]["')\]]*(?:\s|$)""", rest)
        return "end_after" if ended or not self.counted_unit else None

    def end_found(self) -> str | None:
        """The answer from where it says what it is to end with."""
        text = self.lm.text_of.text(self.answer)
        found = re.search(self.options.end_after, text) if self.options.end_after else None
        return None if found is None else text[found.start() :]

    def rest(self, unit: Unit) -> Unit:
        """`unit`; where a number of tokens broke the answer's last sentence off, the rest of that sentence."""
        return self.sentences if unit.kind == "tokens" and self.end_found() is not None else unit

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
