"""What a report compares: rows, each the answers of one method with one set of settings, and the questions asked."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from flare_local.metrics.measures import Measure
from flare_local.metrics.paired import Difference
from flare_local.runs.log import Line

Key = tuple[str, str]  # id and text: two runs may give one id to different questions


@dataclass(frozen=True)
class Figure:
    """A figure with its interval. Shares are from 0 to 1; without `value`, `why` says why."""

    name: str
    title: str
    questions: int  # that it is about
    value: float | None
    low: float | None
    high: float | None
    why: str = ""
    percent: bool = True  # shown times 100


@dataclass(frozen=True)
class Bin:
    """Cases of about the same probability: its mean, and the share of them that was right."""

    count: int
    probability: float
    right: float


@dataclass(frozen=True)
class Reliability:
    """Probabilities against what was right; `gap` is the expected calibration error."""

    bins: tuple[Bin, ...]
    count: int
    gap: float


@dataclass(frozen=True)
class Row:
    """The answers of one method."""

    title: str
    method: str
    settings: Mapping[str, object]  # all that the run is bound to
    asked: frozenset[Key]
    results: Mapping[Key, Line]  # lines of results.jsonl
    errors: Mapping[Key, str]  # why a question has no answer
    figures: tuple[Figure, ...]
    task: str = ""  # empty where nothing judges the answers
    values: Mapping[Key, Mapping[str, float]] = field(default_factory=dict)  # what each answer was judged to be
    calibration: Mapping[str, Reliability] = field(default_factory=dict)  # of `tokens`, of each answer's `lowest`

    def number(self, setting: str) -> float:
        """A setting that is a number, 0 where there is none."""
        value = self.settings.get(setting)
        return float(value) if isinstance(value, int | float) else 0.0


@dataclass(frozen=True)
class Comparison:
    """The reference's figures minus those of another row, over the questions that both have."""

    reference: int  # place among the rows
    row: int
    differences: tuple[tuple[Measure, Difference], ...]


@dataclass(frozen=True)
class Report:
    """All that a page shows."""

    title: str
    about: tuple[str, ...]  # sentences: data, seeds, versions
    rows: tuple[Row, ...]
    questions: Mapping[Key, Line]  # lines of items.jsonl, in order; of a plain run those of questions.jsonl
    comparisons: tuple[Comparison, ...]
