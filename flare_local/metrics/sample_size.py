"""How many questions a comparison needs."""

from collections.abc import Sequence
from math import ceil
from statistics import NormalDist, stdev

POWER = 0.8  # share of repetitions in which the difference is seen
ALPHA = 0.05  # two-sided


def questions_needed(
    differences: Sequence[float], difference: float, power: float = POWER, alpha: float = ALPHA
) -> int | None:
    """Questions with which a paired test sees a mean difference of `difference`, where the differences of single
    questions spread as those here do. None where they do not spread, are fewer than two, or `difference` is 0.

    ((z(1 - alpha / 2) + z(power)) s / difference)**2, the normal approximation of the paired t-test.
    """
    if len(differences) < 2 or not difference:
        return None
    spread = stdev(differences)
    z = NormalDist().inv_cdf(1 - alpha / 2) + NormalDist().inv_cdf(power)
    return max(2, ceil((z * spread / difference) ** 2)) if spread else None
