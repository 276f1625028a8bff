"""The plots of a report, as SVG. Colours are classes of the style sheet; rows are told by number and colour."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, log10, sqrt

from flare_local.profile.markup import escaped
from flare_local.report.row import Reliability

LABEL, PLOT, RIGHT, LINE = 150, 144, 46, 24  # widths of an interval plot's columns, height of a line
SIDE, EDGE = 220, 50  # of a square plot, and of the space for its labels
LONGEST = 24  # characters of a row's title
COLOURS = 8  # in the style sheet


@dataclass(frozen=True)
class Whisker:
    """One line of an interval plot. `row` gives number and colour."""

    row: int
    title: str
    value: float
    low: float
    high: float
    shown: str  # the value as a text


@dataclass(frozen=True)
class Dot:
    """One row in a plot of two figures, both shares from 0 to 1."""

    row: int
    title: str
    x: float
    y: float
    low: float
    high: float


def intervals(whiskers: Sequence[Whisker], ends: tuple[float, float], percent: bool) -> str:
    """Values with their intervals, one line each, over an axis between `ends`."""
    low, high = ends
    height = LINE * len(whiskers) + 22

    def x(value: float) -> float:
        return LABEL + PLOT * (min(max(value, low), high) - low) / (high - low)

    parts = [_svg(LABEL + PLOT + RIGHT, height)]
    for tick in (low, (low + high) / 2, high):
        text = f"{100 * tick:g}%" if percent else f"{tick:g}"
        parts.append(f'<line class="grid" x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="2" y2="{height - 18}"/>')
        parts.append(f'<text x="{x(tick):.1f}" y="{height - 4}" text-anchor="middle">{text}</text>')
    if low < 0 < high:
        parts.append(f'<line class="zero" x1="{x(0):.1f}" x2="{x(0):.1f}" y1="2" y2="{height - 18}"/>')
    for line, each in enumerate(whiskers):
        y = LINE * line + LINE / 2 + 2
        parts.append(f'<g class="{_colour(each.row)}"><title>{escaped(each.title)}</title>')
        parts.append(f'<text class="name" x="0" y="{y + 4}">{each.row + 1}. {escaped(_short(each.title))}</text>')
        parts.append(f'<line class="whisker" x1="{x(each.low):.1f}" x2="{x(each.high):.1f}" y1="{y}" y2="{y}"/>')
        parts.append(f'<circle cx="{x(each.value):.1f}" cy="{y}" r="4.5"/>')
        parts.append(f'<text x="{LABEL + PLOT + RIGHT}" y="{y + 4}" text-anchor="end">{each.shown}</text></g>')
    return "".join(parts) + "</svg>"


def ends_of(values: Sequence[float], percent: bool) -> tuple[float, float]:
    """Round numbers that an axis from 0 (or from as far below it) can end with."""
    largest = max((abs(value) for value in values), default=0.0) or 1.0
    if percent:
        high = next(end for end in (0.1, 0.2, 0.4, 0.6, 0.8, 1.0, largest) if end >= largest - 1e-9)
    else:
        step = 10.0 ** (ceil(log10(largest)) - 1)
        high = next(step * end for end in (1, 2, 4, 6, 8, 10) if step * end >= largest * (1 - 1e-9))
    return (-high if min(values, default=0.0) < 0 else 0.0), high


def reliability(row: int, tokens: Reliability, lowest: Reliability) -> str:
    """Probability against the share right; circles as large as their share of the cases."""
    parts = [_square("probability", "share right"), f'<g class="{_colour(row)}">']
    parts.append(f'<line class="diagonal" x1="{_x(0)}" y1="{_y(0)}" x2="{_x(1)}" y2="{_y(1)}"/>')
    for name, curve in (("tokens", tokens), ("lowest", lowest)):
        bins = [each for each in curve.bins if each.count]
        points = " ".join(f"{_x(each.probability):.1f},{_y(each.right):.1f}" for each in bins)
        parts.append(f'<polyline class="{name}" points="{points}"/>')
        for each in bins:
            size = 2.5 + 7 * sqrt(each.count / curve.count)
            tip = f"{each.count} cases: mean probability {each.probability:.2f}, {100 * each.right:.0f}% right"
            parts.append(f'<circle class="{name}" cx="{_x(each.probability):.1f}" cy="{_y(each.right):.1f}"')
            parts.append(f' r="{size:.1f}"><title>{tip}</title></circle>')
    return "".join(parts) + "</g></svg>"


def scatter(dots: Sequence[Dot], x_name: str, y_name: str) -> str:
    """Two shares of each row against each other, the second with its interval."""
    parts = [_square(x_name, y_name)]
    for each in dots:
        x, y = _x(each.x), _y(each.y)
        parts.append(f'<g class="{_colour(each.row)}"><title>{escaped(each.title)}</title>')
        parts.append(
            f'<line class="whisker" x1="{x:.1f}" x2="{x:.1f}" y1="{_y(each.low):.1f}" y2="{_y(each.high):.1f}"/>'
        )
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5"/>')
        parts.append(f'<text class="name" x="{x + 7:.1f}" y="{y + 4:.1f}">{each.row + 1}</text></g>')
    return "".join(parts) + "</svg>"


def _square(x_name: str, y_name: str) -> str:
    """The frame of a plot of two shares."""
    parts = [_svg(SIDE + EDGE + 14, SIDE + EDGE + 8)]
    for share in (0, 0.25, 0.5, 0.75, 1):
        parts.append(f'<line class="grid" x1="{_x(share)}" x2="{_x(share)}" y1="{_y(0)}" y2="{_y(1)}"/>')
        parts.append(f'<line class="grid" x1="{_x(0)}" x2="{_x(1)}" y1="{_y(share)}" y2="{_y(share)}"/>')
    for share in (0, 0.5, 1):
        parts.append(f'<text x="{_x(share)}" y="{_y(0) + 14}" text-anchor="middle">{100 * share:g}%</text>')
        parts.append(f'<text x="{_x(0) - 5}" y="{_y(share) + 4}" text-anchor="end">{100 * share:g}%</text>')
    parts.append(f'<text x="{_x(0.5)}" y="{_y(0) + 28}" text-anchor="middle">{escaped(x_name)}</text>')
    parts.append(f'<text transform="translate(10 {_y(0.5)}) rotate(-90)" text-anchor="middle">{escaped(y_name)}</text>')
    return "".join(parts)


def _x(share: float) -> float:
    return EDGE + SIDE * share


def _y(share: float) -> float:
    return 6 + SIDE * (1 - share)


def _svg(width: float, height: float) -> str:
    return f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img">'


def _colour(row: int) -> str:
    return f"row{row % COLOURS}"


def _short(title: str) -> str:
    return title if len(title) <= LONGEST else title[: LONGEST - 1] + "…"
