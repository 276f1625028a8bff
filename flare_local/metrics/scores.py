"""A run judged: its figures with their intervals, and two runs compared."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from flare_local.datasets.item import Item
from flare_local.metrics.bootstrap import RESAMPLES, Interval, interval, share_interval
from flare_local.metrics.calibration import Reliability, lowest_cases, reliability, token_cases
from flare_local.metrics.judge import Values, is_right, judge, judge_retrieval
from flare_local.metrics.judges import Judges
from flare_local.metrics.measures import RETRIEVAL, Measure, measures_of
from flare_local.metrics.paired import Difference, compare
from flare_local.metrics.prediction import Prediction
from flare_local.metrics.statistic import Table
from flare_local.metrics.support import By, told_by

K = 5  # depth of recall and nDCG


@dataclass(frozen=True)
class Column:
    """One figure of a run."""

    measure: Measure
    questions: int  # that it is about
    value: float | None  # None: it cannot be had, and `why` says why
    interval: Interval | None = None
    why: str = ""

    def as_dict(self) -> dict[str, object]:
        """For JSON. Values are as computed, shares from 0 to 1."""
        return {
            "name": self.measure.name,
            "title": self.measure.title,
            "questions": self.questions,
            "value": self.value,
            "low": None if self.interval is None else self.interval.low,
            "high": None if self.interval is None else self.interval.high,
            "why": self.why,
        }


@dataclass(frozen=True)
class Scores:
    """A run judged. `values` are what each question has, by its id; all figures are made of them."""

    task: str
    values: Mapping[str, Values]
    why: Mapping[str, str]  # value of a question -> why no question has it

    def columns(self, seed: int = 0, resamples: int = RESAMPLES) -> list[Column]:
        """All figures of the task, the paper's first."""
        return [self.column(measure, seed, resamples) for measure in measures_of(self.task)]

    def column(self, measure: Measure, seed: int = 0, resamples: int = RESAMPLES) -> Column:
        """One figure, over the questions that have its values."""
        table = self.table(measure)
        if not table.ids:
            reasons = [self.why[name] for name in measure.of if name in self.why]
            return Column(measure, 0, None, why=" ".join(reasons) or "no question has what it is made of.")
        value = table.figure(measure.figure)
        if value != value:  # 0 / 0
            return Column(measure, len(table.ids), None, why="nothing to divide by.")
        between = share_interval if measure.percent else interval
        return Column(measure, len(table.ids), value, between(table, measure.figure, seed, resamples))

    def table(self, measure: Measure) -> Table:
        """The values that a figure is made of."""
        return Table.of({id: tuple(row.get(name) for name in measure.of) for id, row in self.values.items()})


def score(
    task: str,
    items: Iterable[Item],
    predictions: Iterable[Prediction],
    judges: Judges,
    k: int = K,
    judged: Mapping[str, Values] | None = None,
) -> Scores:
    """Judges every prediction of an item; items without one are not judged.

    `k`: depth at which each answer's first search is judged; that of the run's `top_k` says most. `judged`: what
    `judge` has said of some of these predictions before, by id; they are not judged again.
    """
    by_id = {item.id: item for item in items}
    known = [each for each in predictions if each.id in by_id]
    before = judged or {}
    values = {
        each.id: dict(before[each.id]) if each.id in before else judge(task, by_id[each.id], each, judges)
        for each in known
    }
    why = dict(judges.why)
    by = told_by(by_id.values(), known)
    if isinstance(by, By):
        for each in known:
            values[each.id] |= judge_retrieval(by_id[each.id], each, by, k)
    else:
        why |= {name: by for measure in RETRIEVAL for name in measure.of}
    return Scores(task, values, why)


def differences(first: Scores, second: Scores, seed: int = 0) -> dict[str, Difference]:
    """Every figure that both runs have, compared on the questions that both have; by the name of its measure."""
    found = {}
    for measure in measures_of(first.task):
        left, right = first.table(measure), second.table(measure)
        if set(left.ids) & set(right.ids):
            found[measure.name] = compare(left, right, measure.figure, seed)
    return found


def calibration(scores: Scores, predictions: Sequence[Prediction]) -> dict[str, Reliability]:
    """Reliability of token probabilities: of all tokens (`tokens`), and of each answer's lowest (`lowest`)."""
    known = [each for each in predictions if each.id in scores.values]
    answers = [(each.probabilities, is_right(scores.task, scores.values[each.id])) for each in known]
    return {"tokens": reliability(token_cases(answers)), "lowest": reliability(lowest_cases(answers))}
