"""What a forward costs by the number of its rows, learnt from the forwards that ran on this machine and model.

Nothing is run to find out. Cached length, dtype, threads and load are in the times that come in.
"""

from bisect import bisect_left
from dataclasses import dataclass
from math import log2

RATE = 0.25  # share of a new time in an estimate
OUTLIER = 2.0  # a time counts as at most so many times its estimate: a pause of the machine is no cost
FORGOTTEN = 512  # forwards after which an estimate that nothing renewed is dropped, so that it is tried again


@dataclass
class _Estimate:
    rows: float
    ms: float
    seen: int  # number of the last forward that renewed it


class ForwardCost:
    """Estimates for row counts that are near each other are one; between estimates lies a straight line."""

    def __init__(self) -> None:
        self._estimates: dict[int, _Estimate] = {}
        self._forwards = 0
        self._curve: list[tuple[float, float]] | None = None

    def note(self, rows: int, ms: float) -> None:
        """A forward of `rows` rows took `ms` milliseconds."""
        self._forwards += 1
        self._curve = None
        found = self._estimates.get(_bucket(rows))
        if found is None:
            self._estimates[_bucket(rows)] = _Estimate(rows, ms, self._forwards)
        else:
            found.rows += RATE * (rows - found.rows)
            found.ms += RATE * (min(ms, OUTLIER * found.ms) - found.ms)
            found.seen = self._forwards

    def of(self, rows: int) -> float:
        """Milliseconds that a forward of `rows` rows is expected to take; 0 while nothing is known.

        Never less for more rows. Beyond the estimates, the cost of a row is that of the nearest two; below a single
        one, its own share.
        """
        curve = self._known()
        if not curve:
            return 0.0
        at = bisect_left(curve, (float(rows), -1.0))
        if at == len(curve):
            last, before = curve[-1], curve[-2] if len(curve) > 1 else (0.0, 0.0)
            return last[1] + (rows - last[0]) * _slope(before, last)
        before = curve[at - 1] if at else (0.0, 0.0)
        return before[1] + (rows - before[0]) * _slope(before, curve[at])

    def _known(self) -> list[tuple[float, float]]:
        """Estimates by rows, smoothed so that they never fall: neighbours that do are replaced by their mean."""
        if self._curve is None:
            old = self._forwards - FORGOTTEN
            self._estimates = {key: each for key, each in self._estimates.items() if each.seen > old}
            pooled: list[list[_Estimate]] = []
            for each in sorted(self._estimates.values(), key=lambda each: each.rows):
                pooled.append([each])
                while len(pooled) > 1 and _mean(pooled[-2]) > _mean(pooled[-1]):
                    pooled[-2:] = [pooled[-2] + pooled[-1]]
            self._curve = [(each.rows, _mean(pool)) for pool in pooled for each in pool]
        return self._curve


def _bucket(rows: int) -> int:
    """Up to 8 rows each for itself, then four to a doubling."""
    return rows if rows <= 8 else 8 + round(4 * log2(rows / 8))


def _mean(pool: list[_Estimate]) -> float:
    return sum(each.ms for each in pool) / len(pool)


def _slope(left: tuple[float, float], right: tuple[float, float]) -> float:
    return (right[1] - left[1]) / (right[0] - left[0]) if right[0] > left[0] else 0.0
