"""What `peers` measured: one answer a line, and what many of them come to."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from statistics import mean, median

from flare_local.trace.events import Answer, Step

OURS = "ours"


@dataclass(frozen=True)
class Measured:
    """One answer of one row."""

    row: str
    repeat: int  # counts from 0; the first question of each finds nothing cached
    number: int  # of the question, counts from 0
    seconds: float
    answer: Answer

    @property
    def key(self) -> tuple[int, int]:
        return self.repeat, self.number

    @property
    def sentences(self) -> list[str]:
        return [step.text for step in self.answer.steps]

    def line(self) -> dict[str, object]:
        """As it is written."""
        counters = self.answer.counters.as_dict()
        return {
            "row": self.row, "repeat": self.repeat, "number": self.number, "seconds": self.seconds,
            "question": self.answer.question, "sentences": self.sentences, "counters": counters,
        }  # fmt: skip


@dataclass(frozen=True)
class Summary:
    """One row against the engine. Ratios are its seconds over the engine's, question by question; medians of these."""

    row: str
    answers: int
    seconds: float  # an answer, median
    ratio: float
    later: float | None  # without each repetition's first question; None: there was no other
    per_call: float  # ratio of seconds a call
    calls: float  # an answer, mean
    forwards: float  # an answer, mean
    same: int  # sentences that the engine wrote too, at the same place
    sentences: int  # the more of both
    per_token: float | None  # seconds of a plain decode; None: not measured


def summaries(rows: Iterable[str], measured: Sequence[Measured], per_token: dict[str, float]) -> list[Summary]:
    """One summary for each of `rows` that answered anything."""
    return [summary_of(row, measured, per_token.get(row)) for row in rows if any(m.row == row for m in measured)]


def summary_of(row: str, measured: Sequence[Measured], per_token: float | None) -> Summary:
    """What the answers of `row` come to, against those of the engine to the same questions."""
    ours = {m.key: m for m in measured if m.row == OURS}
    theirs = [m for m in measured if m.row == row and m.key in ours]
    ratios = {m.key: m.seconds / ours[m.key].seconds for m in theirs}
    calls = [ratios[m.key] * ours[m.key].answer.counters.calls / m.answer.counters.calls for m in theirs]
    pairs = [pair for m in theirs for pair in zip_longest(m.sentences, ours[m.key].sentences)]
    later = [ratio for (_, number), ratio in ratios.items() if number > 0]
    return Summary(
        row=row,
        answers=len(theirs),
        seconds=median(m.seconds for m in theirs),
        ratio=median(ratios.values()),
        later=median(later) if later else None,
        per_call=median(calls),
        calls=mean(m.answer.counters.calls for m in theirs),
        forwards=mean(m.answer.counters.forwards for m in theirs),
        same=sum(mine == other for mine, other in pairs),
        sentences=len(pairs),
        per_token=per_token,
    )


def regenerated(answers: Iterable[Answer]) -> list[Step]:
    """The steps whose draft was thrown away and written again, with the draft to speculate with."""
    return [step for answer in answers for step in answer.steps if step.draft is not None and not step.accepted]


def accepted_per_forward(answers: Iterable[Answer]) -> float | None:
    """Tokens of the regenerated sentences over the forwards of their calls; None where nothing was run for one."""
    counters = [(len(step.tokens), step.sentence.generation.counters.forwards) for step in regenerated(answers)]
    forwards = sum(forwards for _, forwards in counters)
    return sum(tokens for tokens, _ in counters) / forwards if forwards else None


def outside(answers: Iterable[Answer]) -> float:
    """Share of the time that went into neither a forward nor a search."""
    counters = [answer.counters for answer in answers]
    return sum(c.other_ms for c in counters) / sum(c.total_ms for c in counters)
