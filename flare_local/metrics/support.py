"""Retrieval of an answer: were the documents found that its gold answer is in?"""

from dataclasses import dataclass

from flare_local.datasets.item import Item
from flare_local.metrics.prediction import Found, Prediction
from flare_local.metrics.ranking import ndcg_at, recall_at


@dataclass(frozen=True)
class Support:
    """How well the supporting documents of one question were found, from 0 to 1."""

    recall: float  # by all searches of the answer together
    recall_at_k: float  # among the first k of the first search
    ndcg_at_k: float


def support(item: Item, prediction: Prediction, k: int) -> Support | None:
    """By id where the question's documents have ids, else by title; None where it names no documents."""
    relevant = dict.fromkeys(item.supporting_ids or item.supporting_titles, 1)
    if not relevant:
        return None
    by_id = bool(item.supporting_ids)
    rankings = [_names(found, by_id) for found in prediction.searches]
    everything = [name for ranking in rankings for name in ranking]
    first = rankings[0] if rankings else []
    return Support(
        recall_at(everything, relevant, len(everything)), recall_at(first, relevant, k), ndcg_at(first, relevant, k)
    )


def _names(found: tuple[Found, ...], by_id: bool) -> list[str]:
    """Ids or titles, best first; passages of one article count once."""
    return list(dict.fromkeys(document.id if by_id else document.title for document in found))
