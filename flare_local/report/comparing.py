"""The reference against every other row of the same task, on the questions that both were judged on."""

from collections.abc import Mapping, Sequence

from flare_local.metrics.measures import Measure, measures_of
from flare_local.metrics.paired import compare
from flare_local.metrics.statistic import Table
from flare_local.report.row import Comparison, Row


def compared(rows: Sequence[Row], references: Mapping[str, int]) -> tuple[Comparison, ...]:
    """A comparison for each other row that has a question in common with the reference of its task, given by place."""
    found = []
    for place, row in enumerate(rows):
        reference = references[row.task]
        if place == reference or not row.task:
            continue
        first = rows[reference]
        tables = [(measure, _table(first, measure), _table(row, measure)) for measure in measures_of(row.task)]
        differences = tuple(
            (measure, compare(left, right, measure.figure))
            for measure, left, right in tables
            if set(left.ids) & set(right.ids)
        )
        if differences:
            found.append(Comparison(reference, place, differences))
    return tuple(found)


def _table(row: Row, measure: Measure) -> Table:
    return Table.of({str(key): tuple(of.get(name) for name in measure.of) for key, of in row.values.items()})
