"""What happened while a question was answered. Plain values: enough to show it, and to prove it afterwards."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from flare_local.engine.call import Generation, Until
from flare_local.engine.counters import Counters
from flare_local.retrieval.document import Document


class Ended(StrEnum):
    """Why an answer ended."""

    EOS = "eos"  # the model ended it
    STOP = "stop"  # a stop string appeared
    END_AFTER = "end_after"  # the sentence completed a match of `Rules.end_after`
    MAX_SENTENCES = "max_sentences"
    LENGTH = "length"  # `Rules.max_new_tokens` were written


@dataclass(frozen=True)
class Search:
    """One search and what it found."""

    queries: tuple[str, ...]  # as they were sent
    documents: tuple[Document, ...]  # best first
    ms: float


@dataclass(frozen=True)
class Cut:
    """What was left out of a prompt, because the model's context could not hold it. At least one number is not 0."""

    exemplars: int  # from the last
    documents: int  # from the lowest rank
    words: int  # at the end of the last document that stayed

    def __str__(self) -> str:
        parts = [(self.exemplars, "exemplar"), (self.documents, "document"), (self.words, "word")]
        return ", ".join(f"{count} {noun}{'s' * (count > 1)}" for count, noun in parts if count)


@dataclass(frozen=True)
class Writing:
    """One call of the language model: the prompt, its limits, and what came out."""

    prompt: tuple[int, ...]
    documents: tuple[Document, ...]  # those in the prompt, as they were found; of a cut prompt, as they stand in it
    until: Until
    max_new_tokens: int
    speculate: tuple[int, ...]
    generation: Generation
    ms: float
    cut: Cut | None = None  # None: the prompt is whole
    question_model: bool = False  # written by the question model: ids are that model's

    @property
    def text(self) -> str:
        return self.generation.text

    @property
    def tokens(self) -> tuple[int, ...]:
        return self.generation.tokens


@dataclass(frozen=True)
class Foresight:
    """What was searched while a draft was still being written, and what came of it."""

    searches: int
    read: int  # lists of documents that the model read ahead
    kept: bool  # the final search found one of them
    hidden_ms: float  # reading it took so long beside the draft and the final search


@dataclass(frozen=True)
class Step:
    """One sentence of an answer and how it came about.

    `sentence is draft` where a draft was accepted; `draft` is None for methods that do not look ahead.
    """

    number: int  # counts from 1
    draft: Writing | None
    triggered: bool  # a search was due before this sentence
    search: Search | None  # None: nothing was searched
    sentence: Writing
    ms: float
    asked: tuple[Writing, ...] = ()  # what the model was asked to make queries of the draft: terms, then questions
    call: Writing | None = None  # the rest of a search call that the sentence ended with
    kept: int | None = None  # so many of the sentence's tokens stay in the answer; None: all of them
    foresight: Foresight | None = None  # None: nothing was searched ahead

    @property
    def tokens(self) -> tuple[int, ...]:
        """What the answer gained."""
        return self.sentence.tokens[: self.kept]

    @property
    def text(self) -> str:
        """What the answer's text gained."""
        if self.kept is None:
            return self.sentence.text
        return "".join(self.sentence.generation.pieces[: self.kept])

    @property
    def accepted(self) -> bool:
        """Whether the draft became the sentence without another call."""
        return self.sentence is self.draft

    @property
    def writings(self) -> tuple[Writing, ...]:
        """The model's calls of this step, in order."""
        before = () if self.draft is None or self.accepted else (self.draft, *self.asked)
        return (*before, self.sentence) if self.call is None else (*before, self.sentence, self.call)


Event = Search | Step  # what an observer sees, in order: the question's search (if any), then every step


@dataclass(frozen=True)
class Answer:
    """A question answered."""

    question: str
    method: str
    schedule: str
    text: str
    stop_reason: Ended
    search: Search | None  # the one with the question itself, before the first step
    steps: tuple[Step, ...]
    counters: Counters  # without what the question model cost
    question_counters: Counters | None  # of the question model; None: there was none
    config: Mapping[str, object]  # every setting that can change the answer, JSON values only
    versions: Mapping[str, str]

    @property
    def writings(self) -> tuple[Writing, ...]:
        """All calls of the model, in order."""
        return tuple(writing for step in self.steps for writing in step.writings)

    @property
    def searches(self) -> tuple[Search, ...]:
        """All searches, in order."""
        later = tuple(step.search for step in self.steps if step.search is not None)
        return later if self.search is None else (self.search, *later)
