"""Is a probability of .8 right in 8 of 10 cases? Data of reliability plots."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

BINS = 10  # of equal width


@dataclass(frozen=True)
class Bin:
    """Cases whose probability is in (`low`, `high`]; the first holds 0 too."""

    low: float
    high: float
    count: int
    probability: float  # mean, 0 without cases
    right: float  # share, 0 without cases


@dataclass(frozen=True)
class Reliability:
    """All bins, and their gap: the mean of |probability - right|, weighted by cases (expected calibration error)."""

    bins: tuple[Bin, ...]
    count: int
    gap: float


Case = tuple[float, float]  # a probability, and whether it was right (0 to 1)


def token_cases(answers: Iterable[tuple[Sequence[float], float]]) -> list[Case]:
    """A case a token: its probability, and whether its answer is right. `answers`: probabilities, right."""
    return [(probability, right) for probabilities, right in answers for probability in probabilities]


def lowest_cases(answers: Iterable[tuple[Sequence[float], float]]) -> list[Case]:
    """A case an answer: the lowest probability of its tokens, which is what FLARE looks at."""
    return [(min(probabilities), right) for probabilities, right in answers if probabilities]


def reliability(cases: Sequence[Case], bins: int = BINS) -> Reliability:
    """Sorts cases into bins by probability."""
    sorted_in: list[list[Case]] = [[] for _ in range(bins)]
    for case in cases:
        sorted_in[_bin(case[0], bins)].append(case)
    made = tuple(_made(inside, at, bins) for at, inside in enumerate(sorted_in))
    gap = sum(each.count * abs(each.probability - each.right) for each in made) / max(1, len(cases))
    return Reliability(made, len(cases), gap)


def _bin(probability: float, bins: int) -> int:
    at = min(bins - 1, int(probability * bins))
    return at - 1 if at and probability <= at / bins else at


def _made(inside: list[Case], at: int, bins: int) -> Bin:
    count = len(inside)
    probability = sum(probability for probability, _ in inside) / max(1, count)
    right = sum(right for _, right in inside) / max(1, count)
    return Bin(at / bins, (at + 1) / bins, count, probability, right)
