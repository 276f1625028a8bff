"""Bootstrap intervals: what a figure would be on other questions of the same kind (Efron, percentiles)."""

from collections.abc import Iterator
from dataclasses import dataclass

from flare_local.metrics.statistic import Array, Figure, Table

RESAMPLES = 10_000
LEVEL = 0.95
_CELLS = 4_000_000  # of one block of counts: 32 MB


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

    values = [figure(counts @ table.values / len(table.ids)) for counts in draws(len(table.ids), seed, resamples)]
    return percentiles(numpy.concatenate(values))


def draws(questions: int, seed: int, resamples: int) -> Iterator[Array]:
    """How often each question is in each resample: blocks of [resamples, questions]."""
    import numpy

    random = numpy.random.default_rng(seed)
    chances = numpy.full(questions, 1 / questions)
    block = max(1, _CELLS // questions)
    for first in range(0, resamples, block):
        yield random.multinomial(questions, chances, size=min(block, resamples - first)).astype(numpy.float64)


def percentiles(values: Array) -> Interval | None:
    """The middle 95 % of resampled figures; None where too many of them are undefined."""
    import numpy

    defined = values[numpy.isfinite(values)]
    if len(defined) < LEVEL * len(values):
        return None
    low, high = numpy.quantile(defined, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Interval(float(low), float(high))
