"""Bootstrap intervals: what a figure would be on other questions of the same kind (Efron, percentiles)."""

from collections.abc import Iterator
from dataclasses import dataclass

from flare_local.metrics.statistic import Array, Figure, Table

RESAMPLES = 10_000
LEVEL = 0.95
CELLS = 4_000_000  # of one block of counts: 32 MB
_MOST_CELLS = 20_000_000  # of all blocks, a few seconds of drawing
_FEWEST = 1_000  # resamples


@dataclass(frozen=True)
class Interval:
    """From `low` to `high`, both included."""

    low: float
    high: float


def interval(table: Table, figure: Figure, seed: int = 0, resamples: int = RESAMPLES) -> Interval | None:
    """The 95 % interval of a figure; None for fewer than two questions. The same for the same seed."""
    if len(table.ids) < 2:
        return None
    import numpy

    return percentiles(numpy.concatenate([figure(means) for means in resampled_means(table.values, seed, resamples)]))


def share_interval(table: Table, figure: Figure, seed: int = 0, resamples: int = RESAMPLES) -> Interval | None:
    """As `interval`, for a share. Where every question has 0, or every question 1, resampling sees no spread, and the
    interval would have no width: there it is the exact one of a binomial share (Clopper and Pearson).
    """
    values = table.values
    if values.shape[1] != 1 or len(values) < 2 or not ((values == 0).all() or (values == 1).all()):
        return interval(table, figure, seed, resamples)
    bound = ((1 - LEVEL) / 2) ** (1 / len(values))
    return Interval(0.0, 1 - bound) if values[0, 0] == 0 else Interval(bound, 1.0)


def resampled_means(values: Array, seed: int, resamples: int) -> Iterator[Array]:
    """Means of `values` [questions, columns] over resampled questions: blocks of [resamples, columns].

    Questions with equal values are drawn together, which changes no chance.
    """
    import numpy

    rows, counts = numpy.unique(values, axis=0, return_counts=True)
    questions = len(values)
    resamples = affordable(resamples, len(rows))
    random = numpy.random.default_rng(seed)
    block = max(1, CELLS // len(rows))
    for first in range(0, resamples, block):
        drawn = random.multinomial(questions, counts / questions, size=min(block, resamples - first))
        yield drawn @ rows / questions


def affordable(resamples: int, numbers: int) -> int:
    """How many resamples are made where each takes so many numbers: all, or fewer, but not below `_FEWEST`."""
    return min(resamples, max(_FEWEST, _MOST_CELLS // numbers))


def percentiles(values: Array) -> Interval | None:
    """The middle 95 % of resampled figures; None where too many of them are undefined."""
    import numpy

    defined = values[numpy.isfinite(values)]
    if len(defined) < LEVEL * len(values):
        return None
    low, high = numpy.quantile(defined, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Interval(float(low), float(high))
