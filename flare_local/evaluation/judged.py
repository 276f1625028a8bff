"""The rows of an evaluation judged: figures with intervals, differences from the reference, calibration."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from math import isfinite

from flare_local.datasets.item import Item
from flare_local.evaluation.folder import FORMAT, SCORES, VALUES, Plan, write_lines
from flare_local.evaluation.row import Row
from flare_local.metrics.calibration import Reliability
from flare_local.metrics.judge import Values, judge
from flare_local.metrics.judges import Judges
from flare_local.metrics.measures import COST, OF_TASK, RETRIEVAL, Measure
from flare_local.metrics.paired import Difference, compare
from flare_local.metrics.prediction import Prediction, read_predictions
from flare_local.metrics.scores import Column, Scores, calibration, score
from flare_local.runs.folder import RESULTS
from flare_local.runs.log import write_whole

COSTS = {name for measure in COST for name in measure.of}


@dataclass(frozen=True)
class JudgedRow:
    """One row: every chosen question counts, one without an answer as wrong."""

    row: Row
    scores: Scores
    predictions: Sequence[Prediction]
    missing: int  # questions without an answer

    @cached_property
    def columns(self) -> dict[str, Column]:
        """All figures by the name of their measure."""
        return {column.measure.name: column for column in self.scores.columns()}

    @cached_property
    def calibration(self) -> dict[str, Reliability]:
        """Of tokens and of answers, by their probabilities."""
        return calibration(self.scores, self.predictions)


@dataclass(frozen=True)
class Judged:
    """All rows of a plan."""

    plan: Plan
    rows: tuple[JudgedRow, ...]

    @property
    def reference(self) -> JudgedRow:
        """The row that the others are compared with."""
        return next(each for each in self.rows if each.row.name == self.plan.reference.name)

    @cached_property
    def differences(self) -> dict[str, dict[str, Difference]]:
        """Name of a row -> name of a measure -> the reference's figure minus the row's."""
        task = self.plan.dataset.task
        measures = (*OF_TASK[task], *RETRIEVAL, *COST)
        first = self.reference
        return {
            each.row.name: {
                measure.name: found
                for measure in measures
                if (found := _difference(first.scores, each.scores, measure)) is not None
            }
            for each in self.rows
            if each is not first
        }

    def write(self) -> None:
        """Writes scores.json and values.jsonl."""
        lines = [
            {
                "row": each.row.name,
                "id": id,
                "answered": "calls" in values,
                "values": {name: value for name, value in values.items() if isfinite(value)},
            }
            for each in self.rows
            for id, values in each.scores.values.items()
        ]
        write_lines(self.plan.folder / VALUES, lines)
        write_whole(self.plan.folder / SCORES, json.dumps(self.as_dict(), indent=1, allow_nan=False) + "\n")

    def as_dict(self) -> dict[str, object]:
        """What scores.json says."""
        return {
            "format": FORMAT,
            "task": self.plan.dataset.task,
            "questions": len(self.plan.items),
            "reference": self.plan.reference.name,
            "rows": {each.row.name: _row(each) for each in self.rows},
            "differences": {
                row: {name: _numbers(difference) for name, difference in of.items()}
                for row, of in self.differences.items()
            },
        }


def judge_plan(plan: Plan, judges: Judges) -> Judged:
    """Judges the answers that are in the folder. Raises `RunFault` where one of them is broken."""
    top_k = {row.name: _top_k(plan, row) for row in plan.rows}
    return Judged(plan, tuple(_judged_row(plan, row, judges, top_k[row.name]) for row in plan.rows))


def _judged_row(plan: Plan, row: Row, judges: Judges, k: int) -> JudgedRow:
    task, items = plan.dataset.task, {item.id: item for item in plan.items}
    results = plan.folder / row.name / RESULTS
    there = {each.id: each for each in read_predictions(results)} if results.exists() else {}
    predictions = [there.get(id, Prediction(id, "")) for id in items]
    absent = {id: _wrong(task, item, judges) for id, item in items.items() if id not in there}
    scores = score(task, items.values(), predictions, judges, k=k, judged=absent)
    return JudgedRow(row, scores, [each for each in predictions if each.id in there], len(absent))


def _wrong(task: str, item: Item, judges: Judges) -> Values:
    """The values of a question without an answer; what it cost is not known."""
    values = judge(task, item, Prediction(item.id, ""), judges)
    return {name: value for name, value in values.items() if name not in COSTS}


def _top_k(plan: Plan, row: Row) -> int:
    head = plan.folder / row.name / "run.json"
    settings: Mapping[str, int] = json.loads(head.read_bytes())["settings"] if head.exists() else {}
    return settings.get("top_k", 1)


def _difference(first: Scores, second: Scores, measure: Measure) -> Difference | None:
    left, right = first.table(measure), second.table(measure)
    return compare(left, right, measure.figure) if set(left.ids) & set(right.ids) else None


def _row(each: JudgedRow) -> dict[str, object]:
    return {
        **each.row.as_dict(),
        "answered": len(each.predictions),
        "failed": each.missing,
        "columns": {
            name: {**column.as_dict(), "percent": column.measure.percent, "better": column.measure.better}
            for name, column in each.columns.items()
        },
        "calibration": {name: asdict(found) for name, found in each.calibration.items()},
    }


def _numbers(difference: Difference) -> dict[str, object]:
    values: dict[str, object] = {
        name: value if not isinstance(value, float) or isfinite(value) else None
        for name, value in asdict(difference).items()
        if name != "interval"
    }
    interval = difference.interval
    return values | {"low": interval and interval.low, "high": interval and interval.high}
