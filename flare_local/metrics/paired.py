"""Two methods on the same questions: how far apart, with which certainty."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from math import nan, prod

from flare_local.errors import UsageError
from flare_local.metrics.bootstrap import CELLS, RESAMPLES, Interval, affordable, percentiles, resampled_means
from flare_local.metrics.sample_size import questions_needed
from flare_local.metrics.statistic import Array, Figure, Table, mean

EXACT = 2**20  # so many different exchanges are all computed; where there are more, RESAMPLES of them
DIGITS = 12  # of differences that are told apart
_TOLERANCE = 1e-9  # of two sums of the same numbers in another order


@dataclass(frozen=True)
class Difference:
    """The figure of the first minus that of the second, over the questions that both have."""

    questions: int
    difference: float
    interval: Interval | None  # paired bootstrap, 95 %
    better: int  # questions where the first is higher
    worse: int
    p_sign: float  # exact two-sided sign test over `better` and `worse`; nan for figures of more than one value
    p_exchange: float  # two-sided permutation test: the methods exchanged on any of the questions
    exact: bool  # whether `p_exchange` is over all exchanges
    needed: int | None  # questions to see a difference of this size in 80 of 100 tries; None where there is none


def compare(first: Table, second: Table, figure: Figure = mean, seed: int = 0) -> Difference:
    """Compares two methods. Raises `UsageError` where they have no question in common."""
    import numpy

    places = {id: place for place, id in enumerate(second.ids)}
    shared = [(place, places[id]) for place, id in enumerate(first.ids) if id in places]
    if not shared:
        raise UsageError("The two have no question in common.", "Compare runs on the same questions.")
    left, right = (side.values[list(at)] for side, at in zip((first, second), zip(*shared, strict=True), strict=True))
    count = len(shared)
    observed = float(figure(left.mean(axis=0)) - figure(right.mean(axis=0)))
    apart = left - right
    single = apart.shape[1] == 1
    better, worse = (int((sign * apart[:, 0] > _TOLERANCE).sum()) if single else 0 for sign in (1, -1))
    width = left.shape[1]
    both = resampled_means(numpy.concatenate([left, right], axis=1), seed, RESAMPLES)
    resampled = [figure(means[:, :width]) - figure(means[:, width:]) for means in both]
    p_exchange, exact = _exchange(left, right, figure, observed, seed)
    return Difference(
        questions=count,
        difference=observed,
        interval=percentiles(numpy.concatenate(resampled)) if count > 1 else None,
        better=better,
        worse=worse,
        p_sign=sign_test(better, worse) if single else nan,
        p_exchange=p_exchange,
        exact=exact,
        needed=questions_needed(apart[:, 0].tolist(), observed) if single else None,
    )


def sign_test(better: int, worse: int) -> float:
    """Two-sided p of so uneven a split by a fair coin, exact; 1 where nothing differs."""
    count, fewer = better + worse, min(better, worse)
    return float(min(1.0, 2 * sum(islice(_coefficients(count), fewer + 1)) / 2**count))


def _coefficients(count: int) -> Iterator[int]:
    """Binomial coefficients: `count` over 0, over 1, up to over `count`."""
    ways = 1
    for k in range(count + 1):
        yield ways
        ways = ways * (count - k) // (k + 1)


def _exchange(left: Array, right: Array, figure: Figure, observed: float, seed: int) -> tuple[float, bool]:
    """p of a difference at least as large when left and right change places on some of the questions, and whether it
    is exact. Questions that differ by the same are exchanged together: only how many of them are counts.
    """
    import numpy

    steps, counts = numpy.unique(numpy.round(right - left, DIGITS), axis=0, return_counts=True)
    differs = numpy.abs(steps).max(axis=1) > 0
    steps, counts = steps[differs], counts[differs]
    if not len(steps):
        return 1.0, True

    def extreme(exchanged: Array) -> Array:
        """1 for each row of exchanges [tries, steps] that leaves a difference as large, else 0."""
        moved = exchanged @ steps
        apart = figure((left.sum(axis=0) + moved) / len(left)) - figure((right.sum(axis=0) - moved) / len(left))
        return (numpy.abs(apart) >= abs(observed) - _TOLERANCE).astype(numpy.float64)

    if prod(int(count) + 1 for count in counts) <= EXACT:
        every = numpy.indices(counts + 1).reshape(len(counts), -1).T
        chances = numpy.ones(len(every))
        for at, count in enumerate(counts.tolist()):
            chances *= numpy.array([ways / 2**count for ways in _coefficients(count)])[every[:, at]]
        return float(chances @ extreme(every.astype(numpy.float64))), True
    random = numpy.random.default_rng(seed)
    tries = affordable(RESAMPLES, len(steps))
    block = max(1, CELLS // len(steps))
    sizes = [min(block, tries - begin) for begin in range(0, tries, block)]
    drawn = (random.binomial(counts, 0.5, size=(size, len(steps))).astype(numpy.float64) for size in sizes)
    hits = sum(float(extreme(exchanged).sum()) for exchanged in drawn)
    return (hits + 1) / (tries + 1), False
