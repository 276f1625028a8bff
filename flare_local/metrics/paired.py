"""Two methods on the same questions: how far apart, with which certainty."""

from dataclasses import dataclass
from math import comb, nan

from flare_local.errors import UsageError
from flare_local.metrics.bootstrap import RESAMPLES, Interval, draws, percentiles
from flare_local.metrics.sample_size import questions_needed
from flare_local.metrics.statistic import Array, Figure, Table, mean

EXACT = 16  # questions that differ: up to so many all 2**n exchanges are computed, else RESAMPLES of them
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
    resampled = [
        figure(counts @ left / count) - figure(counts @ right / count) for counts in draws(count, seed, RESAMPLES)
    ]
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
    return float(min(1.0, 2 * sum(comb(count, k) for k in range(fewer + 1)) / 2**count))


def _exchange(left: Array, right: Array, figure: Figure, observed: float, seed: int) -> tuple[float, bool]:
    """p of a difference at least as large when left and right change places on some of the questions."""
    import numpy

    count = len(left)
    differs = numpy.flatnonzero(numpy.abs(left - right).max(axis=1) > _TOLERANCE)
    steps = (right - left)[differs]
    exact = len(differs) <= EXACT
    if exact:
        every = numpy.arange(2 ** len(differs))
        blocks = [((every[:, None] >> numpy.arange(len(differs))) & 1).astype(numpy.float64)]
    else:
        random = numpy.random.default_rng(seed)
        block = max(1, 4_000_000 // len(differs))
        sizes = [min(block, RESAMPLES - begin) for begin in range(0, RESAMPLES, block)]
        blocks = [random.integers(0, 2, size=(size, len(differs))).astype(numpy.float64) for size in sizes]
    extreme = 0
    for exchanged in blocks:
        moved = exchanged @ steps
        apart = figure((left.sum(axis=0) + moved) / count) - figure((right.sum(axis=0) - moved) / count)
        extreme += int((numpy.abs(apart) >= abs(observed) - _TOLERANCE).sum())
    return (extreme / 2 ** len(differs) if exact else (extreme + 1) / (RESAMPLES + 1)), exact
