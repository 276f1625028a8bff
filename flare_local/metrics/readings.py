"""Ambiguous questions (ASQA): is there an answer to each reading?"""

from collections.abc import Sequence

from flare_local.datasets.item import Reading
from flare_local.metrics.short_answer import contains, squad_f1


def str_em(predicted: str, readings: Sequence[Reading]) -> float:
    """Share of the readings one of whose answers stands in the prediction (ASQA's STR-EM)."""
    return sum(contains(predicted, reading.answers) for reading in readings) / len(readings)


def disambig_f1(read_off: Sequence[str], readings: Sequence[Reading]) -> float:
    """Mean F1 of what a QA model reads off the prediction for each reading; `read_off` is in the readings' order."""
    scores = [squad_f1(text, reading.answers) for text, reading in zip(read_off, readings, strict=True)]
    return sum(scores) / len(scores)


def dr(disambig: float, rouge: float) -> float:
    """ASQA's overall score: the geometric mean of the two, of a whole set."""
    return float((disambig * rouge) ** 0.5)
