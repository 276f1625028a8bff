"""Short answers: exact match, and F1, precision and recall of words, each the best over answer and aliases.

Source: HotpotQA's and 2WikiMultihopQA's evaluation scripts; the released program takes the best of each metric by
itself, so that precision may be that of one alias and recall that of another.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from flare_local.metrics.words import normal

CLOSED = ("yes", "no", "noanswer")  # such an answer shares no words with another


@dataclass(frozen=True)
class Overlap:
    """Words that two texts share, from 0 to 1."""

    f1: float
    precision: float
    recall: float


NOTHING = Overlap(0.0, 0.0, 0.0)


def exact_match(predicted: str, answers: Sequence[str]) -> float:
    """1 where the prediction is one of the answers, else 0."""
    return float(any(normal(predicted) == normal(answer) for answer in answers))


def overlap(predicted: str, answer: str) -> Overlap:
    """Words shared with one answer, counted as often as they are in both."""
    left, right = normal(predicted), normal(answer)
    if left != right and (left in CLOSED or right in CLOSED):
        return NOTHING
    shared = sum((Counter(left.split()) & Counter(right.split())).values())
    if not shared:
        return NOTHING
    precision, recall = shared / len(left.split()), shared / len(right.split())
    return Overlap(2 * precision * recall / (precision + recall), precision, recall)


def best_overlap(predicted: str, answers: Sequence[str]) -> Overlap:
    """The best of each over all answers."""
    each = [overlap(predicted, answer) for answer in answers]
    return Overlap(max(o.f1 for o in each), max(o.precision for o in each), max(o.recall for o in each))


def contains(predicted: str, answers: Sequence[str]) -> float:
    """1 where one of the answers stands in the prediction, else 0."""
    text = normal(predicted)
    return float(any(normal(answer) in text for answer in answers))


def squad_f1(predicted: str, answers: Sequence[str]) -> float:
    """SQuAD 2.0's F1, the best over the answers: nothing equals nothing alone (ASQA's scoring.py)."""
    return max(_squad_f1(normal(predicted).split(), normal(answer).split()) for answer in answers)


def _squad_f1(left: list[str], right: list[str]) -> float:
    if not left or not right:
        return float(left == right)
    shared = sum((Counter(left) & Counter(right)).values())
    return 2 * shared / (len(left) + len(right))
