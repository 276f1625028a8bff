"""The rules a method follows: its numbers, and the switches in which the paper and the released program differ.

`Schedule` holds the switches, `Rules` the numbers. docs/schedules.md explains every line of both.
"""

import re
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from math import isfinite

from flare_local.engine.call import LOOK_AHEAD, Sampling, Sentence, Tokens, Until
from flare_local.errors import UsageError

SENTENCE = Sentence()
GREEDY = Sampling()


class FirstSentence(StrEnum):
    """What happens to the first draft, which has seen the documents of the question."""

    JUDGE = "judge"  # theta judges it as every other draft
    ACCEPT = "accept"  # it is taken as it is


class FullyMasked(StrEnum):
    """What is searched when no token of a draft is left for a query, or no question was made of it."""

    SENTENCE = "sentence"  # the draft without its mask
    NOTHING = "nothing"  # no search; the documents stay as they are


class Overflow(StrEnum):
    """What happens where a prompt and its answer are longer than the model's context."""

    CUT = "cut"  # documents go, then exemplars, and the answer's trace says so
    ERROR = "error"  # the question is refused


class QueryKind(StrEnum):
    """How FLARE direct makes a query of an unsure draft (paper section 3.2.2)."""

    IMPLICIT = "implicit"  # the draft without its improbable tokens
    EXPLICIT = "explicit"  # a question for each improbable span, written by the same model


class Brackets(StrEnum):
    """Which tokens the search skill makes more probable, and forbids after a search (paper, appendix A)."""

    ALL = "all"  # every token whose text begins with "["
    ONE = "one"  # the one that the released program names: " ["


@dataclass(frozen=True)
class Schedule:
    """The named switches. Two instances exist: `PAPER` and `RELEASED`."""

    name: str
    trigger_at_theta: bool  # a probability of exactly theta triggers
    keep_at_beta: bool  # a token of exactly beta stays in the query
    always_theta: float  # the theta that triggers every sentence, whatever its probabilities
    eos_counts: bool  # the probability of EOS right after the draft is judged too
    blank_triggers: bool  # a draft of only whitespace can trigger
    documents_persist: bool  # documents stay until replaced, and drafts see them
    accepts_confident: bool  # a confident draft becomes the sentence; else the sentence is always written again
    fully_masked: FullyMasked
    draft_in_budget: bool  # a draft is no longer than the tokens left to the answer
    least_tokens: int  # a sentence may always have this many tokens, also past the budget
    documents_header: str  # line above the documents
    document_mark: str  # what begins a document's line; {number} counts from 1
    window_counts_question: bool  # previous_window: the question's text is part of what lies behind
    decomposition_searches_question: bool  # question_decomposition: the first query is the question
    brackets: Brackets  # flare_instruct: where --brackets does not say
    ban_counts: bool  # flare_instruct: tokens without brackets after a search count in the budget, and EOS ends
    span_gap: int  # explicit: an improbable token less than this behind another belongs to its span
    asks_for_terms: bool  # explicit: the model first completes each span to a term
    passage_has_question: bool  # explicit: the passage shown begins with the question
    only_questions: bool  # explicit: what does not end in "?" is no question
    no_question: FullyMasked  # explicit: what is searched where no question came


PAPER = Schedule(
    name="paper",
    trigger_at_theta=False,
    keep_at_beta=True,
    always_theta=1.0,
    eos_counts=False,
    blank_triggers=False,
    documents_persist=False,
    accepts_confident=True,
    fully_masked=FullyMasked.SENTENCE,
    draft_in_budget=True,
    least_tokens=1,
    documents_header="Search results:",
    document_mark="[{number}]",
    window_counts_question=False,
    decomposition_searches_question=True,
    brackets=Brackets.ALL,
    ban_counts=True,
    span_gap=2,
    asks_for_terms=False,
    passage_has_question=True,
    only_questions=False,
    no_question=FullyMasked.SENTENCE,
)

RELEASED = Schedule(
    name="released",
    trigger_at_theta=True,
    keep_at_beta=False,
    always_theta=0.0,
    eos_counts=True,
    blank_triggers=True,
    documents_persist=True,
    accepts_confident=False,
    fully_masked=FullyMasked.NOTHING,
    draft_in_budget=False,
    least_tokens=2,
    documents_header="Search results ranked based on relevance in descending order:",
    document_mark="[{number}]:",
    window_counts_question=True,
    decomposition_searches_question=False,
    brackets=Brackets.ONE,
    ban_counts=False,
    span_gap=5,
    asks_for_terms=True,
    passage_has_question=False,
    only_questions=True,
    no_question=FullyMasked.NOTHING,
)

SCHEDULES = {schedule.name: schedule for schedule in (PAPER, RELEASED)}


@dataclass(frozen=True)
class Rules:
    """Everything that decides how a question is answered, apart from model, index and exemplars.

    The defaults are the paper's for 2WikiMultihopQA (tables 7 and 9). Raises `UsageError` where a value makes no sense.
    """

    schedule: Schedule = PAPER
    theta: float = 0.8  # a token less probable than this triggers retrieval
    beta: float = 0.4  # a token less probable than this is left out of the query
    top_k: int = 2  # documents a search
    look_ahead: int = LOOK_AHEAD  # tokens of a draft at most
    unit: Until = SENTENCE  # what is looked ahead (paper section 3.2.1)
    first_sentence: FirstSentence = FirstSentence.JUDGE
    initial_retrieval: bool = True  # search with the question before the first draft
    query_tokens: int = 64  # a query keeps this many of its last tokens; the question itself is never cut
    titles: bool = False  # show the documents' titles to the model
    overflow: Overflow = Overflow.CUT
    max_new_tokens: int = 256  # tokens of an answer
    max_sentences: int | None = None
    end_after: str | None = None  # regular expression: the sentence that completes a match is the last
    sampling: Sampling = GREEDY
    query: QueryKind = QueryKind.IMPLICIT
    combine: bool = False  # the question's documents stay in front of all others (paper, table 9)
    window: int = 16  # tokens that previous_window writes at a time (paper section 4)
    window_query: int | None = 16  # tokens of its query; None: all (paper, table 4)
    brackets: Brackets | None = None  # None: as the schedule has it
    search_ahead: bool = False  # search while a draft is still being written; changes no answer
    search_bias: float = 2.0  # added to the logits of brackets (paper, appendix A)

    def __post_init__(self) -> None:
        _between("theta", self.theta)
        _between("beta", self.beta)
        for name in ("top_k", "look_ahead", "query_tokens", "max_new_tokens", "window"):
            _at_least_one(name, getattr(self, name))
        for name in ("max_sentences", "window_query"):
            if getattr(self, name) is not None:
                _at_least_one(name, getattr(self, name))
        if self.combine and not self.initial_retrieval:
            raise UsageError(
                "Combined retrieval keeps the documents of the question, and --no-initial-retrieval leaves them out.",
                "Leave out one of the two.",
            )
        if not isfinite(self.search_bias):
            raise UsageError(f"search-bias is {self.search_bias:g}.", "Give a finite number.")
        if isinstance(self.unit, Tokens):
            _at_least_one("unit tokens", self.unit.count)
            if self.unit.count > self.look_ahead:
                raise UsageError(
                    f"The unit of {self.unit.count} tokens is longer than the look-ahead of {self.look_ahead} tokens.",
                    "Raise --look-ahead or take a smaller unit.",
                )
        if self.end_after is not None:
            try:
                re.compile(self.end_after)
            except re.error as error:
                raise UsageError(
                    f"end-after {self.end_after!r} is not a regular expression: {error}.",
                    "Write one that Python's re module reads, e.g. 'answer is'.",
                ) from None
        if not self.sampling.temperature >= 0:
            raise UsageError(f"temperature is {self.sampling.temperature:g}.", "Give 0 (greedy) or more.")
        if not 0 < self.sampling.top_p <= 1:
            raise UsageError(f"top-p is {self.sampling.top_p:g}.", "Give a number above 0 and up to 1.")

    @classmethod
    def paper(cls) -> "Rules":
        """The schedule of the paper with its default numbers."""
        return cls(schedule=PAPER)

    @classmethod
    def released(cls) -> "Rules":
        """The schedule of the authors' released program with the same numbers."""
        return cls(schedule=RELEASED)

    @property
    def answer_tokens(self) -> int:
        """Tokens that an answer and the call at its end can have at most: the room that a prompt leaves."""
        if self.schedule.draft_in_budget:
            return self.max_new_tokens
        return self.max_new_tokens - 1 + max(self.look_ahead, self.schedule.least_tokens)

    def draft_tokens(self, left: int) -> int:
        """Most tokens of a draft, where `left` tokens remain to the answer."""
        return min(self.look_ahead, left) if self.schedule.draft_in_budget else self.look_ahead

    def sentence_tokens(self, left: int) -> int:
        """Most tokens of a sentence, where `left` tokens remain to the answer."""
        return max(self.schedule.least_tokens, min(self.look_ahead, left))

    def whole_tokens(self, left: int) -> int:
        """Most tokens of a piece that only a mark or a sentence's end divides."""
        return max(self.schedule.least_tokens, left)

    @property
    def sentence(self) -> Sentence:
        """Sentences as the unit has them, for the methods whose pieces are always sentences."""
        return self.unit if isinstance(self.unit, Sentence) else SENTENCE

    def as_dict(self) -> dict[str, object]:
        """Every rule as a JSON value: the schedule and the unit as words, sampling spelled out."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        values |= {"schedule": self.schedule.name, "unit": unit_text(self.unit), "sampling": asdict(self.sampling)}
        return values


def unit_text(unit: Until) -> str:
    """A unit in the words of `--unit` and `--splitter`."""
    if isinstance(unit, Sentence):
        return "sentence, trained" if unit.trained else "sentence"
    return f"tokens:{unit.count}" if isinstance(unit, Tokens) else type(unit).__name__.lower()


def _between(name: str, value: float) -> None:
    if not 0 <= value <= 1:  # NaN fails too
        raise UsageError(f"{name} is {value:g}.", "It is a probability: give a number from 0 to 1.")


def _at_least_one(name: str, value: int) -> None:
    if value < 1:
        raise UsageError(f"{name.replace('_', '-')} is {value}.", "Give 1 or more.")
