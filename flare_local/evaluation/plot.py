"""The plot of a reproduced table, with matplotlib (an optional extra)."""

from pathlib import Path
from typing import Any

from flare_local.errors import UsageError
from flare_local.evaluation.paper import RATE
from flare_local.evaluation.reproduced import Part, Reproduced

INCHES = (4.6, 3.6)  # of one part
DOTS = 150  # an inch
ASIDE = 0.15  # of a place: the paper's marks stand beside ours


def plot(made: Reproduced, path: Path) -> None:
    """Writes a PNG: a panel for each task, its first measure that is there. Raises `UsageError` without matplotlib."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise UsageError("No plot: matplotlib is not installed.", 'pip install "flare-local[plots]".') from None
    figure = Figure(figsize=(INCHES[0] * len(made.parts), INCHES[1]), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(1, len(made.parts), squeeze=False)[0]
    for panel, part in zip(panels, made.parts, strict=True):
        if RATE in part.block.measures:
            _by_rate(panel, made, part)
        else:
            _rows(panel, made, part)
    figure.suptitle(made.table.title, fontsize=10)
    figure.savefig(path, dpi=DOTS)


def _rows(panel: Any, made: Reproduced, part: Part) -> None:
    """A row a place on the x axis: ours with intervals, the paper's beside it."""
    rows = made.table.rows
    name = _shown(made, part)
    places = range(len(rows))
    ours = [(place, *bar) for place in places if (bar := _bar(part, place, name)) is not None]
    paper = [
        (place + ASIDE, value)
        for place, row in enumerate(rows)
        if (value := made.table.numbers(part.block, row).get(name)) is not None
    ]
    line = "-" if made.table.along else "none"
    if ours:
        x, y, below, above = zip(*ours, strict=True)
        panel.errorbar(x, y, (below, above), fmt="o", linestyle=line, capsize=3, label="ours, 95 % interval")
    if paper:
        panel.plot(*zip(*paper, strict=True), marker="D", linestyle=line, color="0.55", label="paper (other model)")
    panel.set_xticks(list(places), [row.title for row in rows], rotation=25, ha="right", fontsize=8)
    panel.set_xlim(-0.5, len(rows) - 0.5)
    _finish(panel, part, name)


def _by_rate(panel: Any, made: Reproduced, part: Part) -> None:
    """The first measure over the share of sentences before which retrieval was activated."""
    name = part.block.measures[0]
    points: dict[tuple[float, float, float, float], list[str]] = {}  # rows at one place share a label
    for place, row in enumerate(made.table.rows):
        bar, rate = _bar(part, place, name), part.column(place, RATE).value
        if bar is not None and rate is not None:
            points.setdefault((100 * rate, *bar), []).append(row.title.removeprefix(made.table.along).strip())
    if points:
        x, y, below, above = zip(*sorted(points), strict=True)
        label = f"ours with {made.table.along}, 95 % interval"
        panel.errorbar(x, y, (below, above), fmt="o-", capsize=3, label=label)
        for number, (point, titles) in enumerate(sorted(points.items())):
            offset = (3, 5 + 9 * (number % 2))  # points; neighbours do not cover each other
            panel.annotate(", ".join(titles), point[:2], textcoords="offset points", xytext=offset, fontsize=7)
    panel.set_xlabel("sentences before which retrieval is activated (%)", fontsize=8)
    panel.set_xlim(-5, 115)
    _finish(panel, part, name)


def _finish(panel: Any, part: Part, name: str) -> None:
    panel.set_title(part.title, fontsize=9)
    panel.set_ylabel(part.measure(name).title)
    panel.set_ylim(0, 100)
    panel.grid(axis="y", alpha=0.3)
    if part.judged is None:
        panel.text(0.5, 0.95, "not measured: no data", transform=panel.transAxes, ha="center", va="top", fontsize=8)
    if panel.get_legend_handles_labels()[0]:
        panel.legend(fontsize=7)


def _shown(made: Reproduced, part: Part) -> str:
    """The first measure of which some row has a figure."""
    names = part.block.measures
    there = (n for n in names if any(part.column(at, n).value is not None for at in range(len(made.table.rows))))
    return next(there, names[0])


def _bar(part: Part, place: int, name: str) -> tuple[float, float, float] | None:
    """Value, and how far the interval reaches below and above it, times 100."""
    column = part.column(place, name)
    if column.value is None:
        return None
    ends = column.interval
    low, high = (column.value, column.value) if ends is None else (ends.low, ends.high)
    return 100 * column.value, 100 * max(0.0, column.value - low), 100 * max(0.0, high - column.value)
