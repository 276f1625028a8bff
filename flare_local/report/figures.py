"""Which plots a report has, and what they are made of."""

from collections.abc import Iterator
from math import isfinite

from flare_local.metrics.measures import COST, RETRIEVAL
from flare_local.report.plots import Dot, Whisker, ends_of, intervals, reliability, scatter
from flare_local.report.row import Figure, Report
from flare_local.report.tables import name_of, number

SHARES = ("trigger_rate", "search_rate")  # of sentences
NOT_DRAWN = {measure.name for measure in COST} - set(SHARES)


def plots(report: Report) -> Iterator[str]:
    """Sections with plots; those without anything to show are left out."""
    kinds = {each.name: each for row in report.rows for each in row.figures if each.value is not None}
    retrieval = {measure.name for measure in RETRIEVAL} | set(SHARES)
    quality = [each for name, each in kinds.items() if name not in retrieval | NOT_DRAWN]
    found = [each for name, each in kinds.items() if name in retrieval]
    if quality:
        yield _section("Scores with intervals", "".join(_intervals(report, each) for each in quality))
    compared = "".join(_differences(report))
    if compared:
        yield _section("Differences with intervals", compared)
    if found:
        yield _section("Retrieval", "".join([*(_intervals(report, each) for each in found), *_shares(report, quality)]))
    curves = "".join(_calibration(report))
    if curves:
        yield _section("Calibration", curves, CALIBRATION)


CALIBRATION = (
    "Is a probability of 80 % right in 8 of 10 cases? Then it lies on the dotted line. Solid: every token, right as "
    "its answer is. Dashed: every answer with its lowest probability, which is what the trigger looks at. The larger "
    "the circle, the more cases."
)


def _section(title: str, content: str, note: str = "") -> str:
    said = f'<p class="quiet small">{note}</p>' if note else ""
    return f'<section><h2>{title}</h2>{said}<div class="plots">{content}</div></section>'


def _plot(title: str, drawing: str) -> str:
    return f"<figure><figcaption>{title}</figcaption>{drawing}</figure>"


def _intervals(report: Report, kind: Figure) -> str:
    whiskers = [
        Whisker(
            place,
            row.title,
            each.value,
            each.value if each.low is None else each.low,
            each.value if each.high is None else each.high,
            number(each.value, each.percent),
        )
        for place, row in enumerate(report.rows)
        for each in row.figures
        if each.name == kind.name and each.value is not None
    ]
    ends = ends_of([each.high for each in whiskers], kind.percent)
    return _plot(kind.title, intervals(whiskers, ends, kind.percent))


def _differences(report: Report) -> Iterator[str]:
    """The first figure of each task: its reference against every other row."""
    for reference in dict.fromkeys(each.reference for each in report.comparisons):
        comparisons = [each for each in report.comparisons if each.reference == reference]
        measure = comparisons[0].differences[0][0]
        whiskers = []
        for each in comparisons:
            difference = {of.name: found for of, found in each.differences}.get(measure.name)
            if difference is not None and difference.interval is not None and isfinite(difference.difference):
                interval, value = difference.interval, difference.difference
                shown = f"{100 * value:+.1f}" if measure.percent else f"{value:+.2f}"
                title = report.rows[each.row].title
                whiskers.append(Whisker(each.row, title, value, interval.low, interval.high, shown))
        if whiskers:
            largest = max(abs(end) for each in whiskers for end in (each.low, each.high))
            ends = ends_of([-largest, largest], measure.percent)
            title = f"{measure.title}: {name_of(reference, report.rows[reference])} minus"
            yield _plot(title, intervals(whiskers, ends, measure.percent))


def _shares(report: Report, quality: list[Figure]) -> Iterator[str]:
    """The share of sentences with retrieval against the first figure of the task (paper, figure 5)."""
    first = next((each for each in quality if each.percent), None)
    if first is None:
        return
    dots = []
    for place, row in enumerate(report.rows):
        figures = {each.name: each for each in row.figures if each.value is not None}
        x, y = figures.get("search_rate"), figures.get(first.name)
        if x is not None and x.value is not None and y is not None and y.value is not None:
            low, high = y.value if y.low is None else y.low, y.value if y.high is None else y.high
            dots.append(Dot(place, row.title, x.value, y.value, low, high))
    if len(dots) > 1:
        yield _plot("How much retrieval, how good", scatter(dots, "sentences with retrieval", first.title))


def _calibration(report: Report) -> Iterator[str]:
    for place, row in enumerate(report.rows):
        curves = row.calibration
        if "tokens" in curves and "lowest" in curves and curves["tokens"].count:
            gaps = f"gap {curves['tokens'].gap:.2f} of tokens, {curves['lowest'].gap:.2f} of answers"
            drawing = reliability(place, curves["tokens"], curves["lowest"])
            yield _plot(f"{name_of(place, row)} <small>{gaps}</small>", drawing)
