"""Numbers and tables for people."""

from collections.abc import Sequence
from math import ceil, log
from statistics import mean, median

Point = tuple[float, float]  # size, cost


def table(headings: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Columns as wide as they need to be; numbers to the right, the first column to the left."""
    cells = [list(headings), *([shown(cell) for cell in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [
        "  ".join(
            [line[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True))]
        )
        for line in cells
    ]
    return "\n".join([lines[0], "-" * len(lines[0]), *lines[1:]])


def shown(cell: object) -> str:
    """Three digits of a number that has a fraction; nothing for None."""
    if isinstance(cell, float):
        return f"{cell:,.0f}" if abs(cell) >= 100 else f"{cell:.3g}"
    return "" if cell is None else str(cell)


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least `share` of all do not exceed (nearest rank)."""
    return sorted(values)[max(0, ceil(share * len(values)) - 1)]


def median_ratio(above: Sequence[float], below: Sequence[float]) -> float:
    """Median of the ratios of what was measured in pairs; pairs with a zero below are left out, NaN for none."""
    ratios = [a / b for a, b in zip(above, below, strict=True) if b]
    return median(ratios) if ratios else float("nan")


def exponent(points: Sequence[Point]) -> float:
    """The e of the power law cost = c * size ** e that fits best: 1 is linear, below it each further one is cheaper."""
    xs, ys = [log(size) for size, _ in points], [log(cost) for _, cost in points]
    middle, level = mean(xs), mean(ys)
    spread = sum((x - middle) ** 2 for x in xs)
    return sum((x - middle) * (y - level) for x, y in zip(xs, ys, strict=True)) / spread if spread else float("nan")


def each_further(points: Sequence[Point]) -> tuple[float, float]:
    """What one more costs in the lower and in the upper half of the sizes. A fixed cost does not hide a rise here."""
    at = max(1, (len(points) - 1) // 2)
    return _slope(points[0], points[at]), _slope(points[min(at, len(points) - 2)], points[-1])


def _slope(left: Point, right: Point) -> float:
    return (right[1] - left[1]) / (right[0] - left[0])
