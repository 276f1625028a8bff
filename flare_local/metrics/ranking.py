"""Rankings: recall and nDCG at a depth, as trec_eval computes them."""

from collections.abc import Mapping, Sequence
from math import log2


def recall_at(ranking: Sequence[str], relevant: Mapping[str, int], k: int) -> float:
    """Share of the relevant documents (grade above 0) among the first `k` of a ranking without repeats."""
    wanted = {document for document, grade in relevant.items() if grade > 0}
    return len(wanted & set(ranking[:k])) / len(wanted)


def ndcg_at(ranking: Sequence[str], relevant: Mapping[str, int], k: int) -> float:
    """Gain of the first `k`, a grade divided by log2(rank + 1), over that of the best ranking."""
    best = _gain(sorted((grade for grade in relevant.values() if grade > 0), reverse=True)[:k])
    return _gain([max(relevant.get(document, 0), 0) for document in ranking[:k]]) / best


def _gain(grades: Sequence[int]) -> float:
    return sum(grade / log2(rank + 1) for rank, grade in enumerate(grades, 1))
