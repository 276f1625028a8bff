"""An evaluation as plain tables: figures with their intervals, then how far the rows are from the reference."""

from collections.abc import Sequence

from flare_local.evaluation.judged import Judged
from flare_local.metrics.measures import COST, OF_TASK, RETRIEVAL, Measure
from flare_local.metrics.paired import Difference
from flare_local.metrics.scores import Column


def figure(column: Column, plain: bool = False) -> str:
    """`48.2 [40.1, 56.0]`, or - where it cannot be had; `plain`: without the interval."""
    if column.value is None:
        return "-"
    times, digits = (100, 1) if column.measure.percent else (1, 1)
    text = f"{column.value * times:.{digits}f}"
    if plain or column.interval is None:
        return text
    return f"{text} [{column.interval.low * times:.{digits}f}, {column.interval.high * times:.{digits}f}]"


def difference_text(difference: Difference, percent: bool) -> str:
    """`+6.7 [-3.3, 16.7]`, p of the permutation test, and the questions that would show it."""
    times = 100 if percent else 1
    interval = difference.interval
    parts = [
        f"{difference.difference * times:+.1f}"
        + ("" if interval is None else f" [{interval.low * times:+.1f}, {interval.high * times:+.1f}]"),
        f"p {difference.p_exchange:.3f}",
        f"{difference.better} better, {difference.worse} worse",
    ]
    if difference.needed is not None:
        parts.append(f"{difference.needed:,} questions would show it")
    return "; ".join(parts)


def report(judged: Judged) -> list[str]:
    """Everything that is printed of an evaluation."""
    plan = judged.plan
    task = plan.dataset.task
    lines = [f"{plan.title}: {len(plan.items):,} of {len(plan.dataset.items):,} questions; 95 % intervals"]
    lines += ["", *_table(judged, OF_TASK[task], plain=False)]
    lines += ["", *_table(judged, (*RETRIEVAL, *COST), plain=True)]
    lines += [f"{row.row.title}: {row.missing} questions have no answer: wrong." for row in judged.rows if row.missing]
    primary = OF_TASK[task][0] if judged.reference.columns[OF_TASK[task][0].name].value is not None else None
    if primary is None:
        primary = next((m for m in OF_TASK[task] if judged.reference.columns[m.name].value is not None), None)
    if primary is not None and judged.differences:
        lines += ["", f"{primary.title} of {judged.reference.row.title} minus that of"]
        width = max(len(each.row.title) for each in judged.rows)
        for each in judged.rows:
            found = judged.differences.get(each.row.name, {}).get(primary.name)
            if found is not None:
                lines.append(f"  {each.row.title:<{width}}  {difference_text(found, primary.percent)}")
    return lines


def _table(judged: Judged, measures: Sequence[Measure], plain: bool) -> list[str]:
    """A column a measure that some row has; why the others are not there stands below."""
    shown = [m for m in measures if any(row.columns[m.name].value is not None for row in judged.rows)]
    table = [["", *(measure.title for measure in shown)]]
    table += [[row.row.title, *(figure(row.columns[m.name], plain) for m in shown)] for row in judged.rows]
    widths = [max(len(cell) for cell in column) for column in zip(*table, strict=True)]
    lines = ["  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in table]
    for measure in measures:
        reasons = dict.fromkeys(row.columns[measure.name].why for row in judged.rows if row.columns[measure.name].why)
        if measure not in shown and reasons:
            lines.append(f"no {measure.title}: {' '.join(reasons)}")
    return lines
