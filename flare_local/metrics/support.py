"""Retrieval of an answer: were the documents found that its gold answer is in?"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from flare_local.datasets.item import Item
from flare_local.metrics.prediction import Found, Prediction
from flare_local.metrics.ranking import ndcg_at, recall_at


@dataclass(frozen=True)
class Support:
    """How well the supporting documents of one question were found, from 0 to 1."""

    recall: float  # by all searches of the answer together
    recall_at_k: float  # among the first k of the first search
    ndcg_at_k: float


class By(StrEnum):
    """What documents of a corpus and of a dataset are told by."""

    ID = "id"
    TITLE = "title"


def told_by(items: Iterable[Item], predictions: Iterable[Prediction]) -> By | str:
    """What a run's documents and its questions' can be compared by: ids, else titles. Where neither says anything, the
    reason: a recall of 0 would say that retrieval is bad, when only the names differ.
    """
    items = list(items)
    found = [document for each in predictions for documents in each.searches for document in documents]
    if not found:
        return "no search found anything."
    if not any(item.supporting_ids or item.supporting_titles for item in items):
        return "the questions name no supporting documents."
    if {document.id for document in found} & {id for item in items for id in item.supporting_ids}:
        return By.ID
    if {document.title for document in found} & {title for item in items for title in item.supporting_titles}:
        return By.TITLE
    return "no document that was found is a supporting one of any question, by id or title."


def support(item: Item, prediction: Prediction, k: int, by: By) -> Support | None:
    """How well the documents of one question were found; None where it names none."""
    relevant = dict.fromkeys(item.supporting_ids if by is By.ID else item.supporting_titles, 1)
    if not relevant:
        return None
    rankings = [_names(found, by) for found in prediction.searches]
    everything = [name for ranking in rankings for name in ranking]
    first = rankings[0] if rankings else []
    return Support(
        recall_at(everything, relevant, len(everything)), recall_at(first, relevant, k), ndcg_at(first, relevant, k)
    )


def _names(found: tuple[Found, ...], by: By) -> list[str]:
    """Ids or titles, best first; passages of one article count once."""
    return list(dict.fromkeys(document.id if by is By.ID else document.title for document in found))
