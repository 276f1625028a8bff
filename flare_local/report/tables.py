"""The tables of a report: rows with their figures, differences from the reference, settings."""

from collections.abc import Iterator, Sequence
from math import isfinite

from flare_local.metrics.measures import COST, Measure
from flare_local.metrics.paired import Difference
from flare_local.profile.markup import escaped
from flare_local.report.answers import shown
from flare_local.report.row import Comparison, Figure, Report, Row

HEADS = (
    "figure",
    "questions",
    "difference",
    "95 % interval",
    "higher on",
    "lower on",
    "p, signs",
    "p, exchange",
    "questions needed",
)  # of a comparison
COSTS = {measure.name for measure in COST}


def name_of(place: int, row: Row) -> str:
    """A row's number in its colour, and its title."""
    return f'<i class="dot row{place % 8}">{place + 1}</i>{escaped(row.title)}'


def scores(rows: Sequence[Row], *, costs: bool) -> Iterator[str]:
    """One line a row, one column a figure: those of quality, or of cost."""
    kinds = {each.name: each for row in rows for each in row.figures if (each.name in COSTS) == costs}
    if not kinds:
        return
    yield '<div class="wide"><table><thead><tr><th>row</th><th>answers</th>'
    yield "".join(f"<th>{escaped(each.title)}</th>" for each in kinds.values()) + "</tr></thead>"
    for place, row in enumerate(rows):
        figures = {each.name: each for each in row.figures}
        cells = "".join(_cell(figures.get(name)) for name in kinds)
        failed = f' <small class="bad">{len(row.errors)} failed</small>' if row.errors else ""
        yield f"<tr><td>{name_of(place, row)}</td><td>{len(row.results)}{failed}</td>{cells}</tr>"
    yield "</table></div>"
    yield from _reasons(rows, set(kinds))


def _reasons(rows: Sequence[Row], names: set[str]) -> Iterator[str]:
    """Why rows with answers lack figures."""
    lacking: dict[tuple[str, str], list[int]] = {}  # reason and figures -> rows
    for place, row in enumerate(rows):
        reasons: dict[str, list[str]] = {}
        for each in row.figures if row.results else ():
            if each.name in names and each.why:
                reasons.setdefault(each.why, []).append(each.title)
        for why, titles in reasons.items():
            lacking.setdefault((why, ", ".join(titles)), []).append(place + 1)
    for (why, figures), places in lacking.items():
        of = f"Row{'s' * (len(places) > 1)} {', '.join(map(str, places))}"
        yield f'<p class="quiet small">{of}, {escaped(figures)}: {escaped(why)}</p>'


def _cell(figure: Figure | None) -> str:
    if figure is None or figure.value is None:
        return '<td class="quiet">–</td>'
    between = "" if figure.low is None or figure.high is None else _between(figure.low, figure.high, figure.percent)
    return f"<td>{number(figure.value, figure.percent)}{between}</td>"


def _between(low: float, high: float, percent: bool) -> str:
    return f"<small>{number(low, percent)} to {number(high, percent)}</small>"


def number(value: float, percent: bool) -> str:
    """A figure as it is shown: shares times 100."""
    if percent:
        return f"{100 * value:.1f}"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.2f}"


def comparison(report: Report, each: Comparison) -> Iterator[str]:
    """All figures of two rows compared."""
    reference, row = report.rows[each.reference], report.rows[each.row]
    first, first_difference = each.differences[0]
    yield f"<details><summary>{name_of(each.reference, reference)} minus {name_of(each.row, row)}: "
    yield f"{escaped(first.title)} {_signed(first_difference.difference, first.percent)}</summary>"
    heads = "".join(f"<th>{head}</th>" for head in HEADS)
    yield f'<div class="wide"><table><thead><tr>{heads}</tr></thead>'
    for measure, difference in each.differences:
        yield _compared(measure, difference)
    yield "</table></div></details>"


def _compared(measure: Measure, difference: Difference) -> str:
    interval = difference.interval
    between = "–"
    if interval is not None and isfinite(interval.low) and isfinite(interval.high):
        low, high = (_signed(value, measure.percent) for value in (interval.low, interval.high))
        between = f"{low} to {high}"
    single = isfinite(difference.p_sign)
    cells = [
        str(difference.questions),
        _signed(difference.difference, measure.percent),
        between,
        str(difference.better) if single else "–",
        str(difference.worse) if single else "–",
        _p(difference.p_sign),
        _p(difference.p_exchange),
        "–" if difference.needed is None else f"{difference.needed:,}",
    ]
    return f"<tr><td>{escaped(measure.title)}</td>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def _signed(value: float, percent: bool) -> str:
    if not isfinite(value):
        return "–"
    text = number(value, percent)
    return text if text.startswith("-") else f"+{text}"


def _p(value: float) -> str:
    if not isfinite(value):
        return "–"
    return "&lt; .001" if value < 0.001 else f"{value:.3f}".lstrip("0")


def settings(rows: Sequence[Row]) -> Iterator[str]:
    """Settings that are not the same in all rows, then the others."""
    begun = [(place, row) for place, row in enumerate(rows) if row.settings]
    names = dict.fromkeys(name for _, row in begun for name in row.settings)
    values = {name: [shown(row.settings.get(name)) for _, row in begun] for name in names}
    other = {name: each for name, each in values.items() if len(set(each)) > 1}
    if other:
        yield '<div class="wide"><table class="settings"><thead><tr><th>setting</th>'
        yield "".join(f"<th>{name_of(place, row)}</th>" for place, row in begun) + "</tr></thead>"
        for name, each in other.items():
            cells = "".join(f"<td>{escaped(value)}</td>" for value in each)
            yield f"<tr><td>{escaped(name)}</td>{cells}</tr>"
        yield "</table></div>"
    same = {name: each[0] for name, each in values.items() if name not in other}
    if same:
        yield f"<details><summary>{'The same in all rows' if len(begun) > 1 else 'Settings'}</summary>"
        yield '<table class="settings">'
        yield "".join(f"<tr><td>{escaped(name)}</td><td>{escaped(value)}</td></tr>" for name, value in same.items())
        yield "</table></details>"
