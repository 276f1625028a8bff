"""Recall and nDCG by hand and by trec_eval, and the documents of an answer."""

import random
from math import log2

import pytest

from flare_local.datasets.item import Item
from flare_local.metrics.prediction import Found, Prediction
from flare_local.metrics.ranking import ndcg_at, recall_at
from flare_local.metrics.support import By, support, told_by

TWO = {"a": 1, "b": 1}
SECOND, THIRD = 1 / log2(3), 1 / 2

# ranking, grades, k, recall, nDCG
CASES = [
    ("ab", TWO, 2, 1, 1),
    ("ba", TWO, 2, 1, 1),
    ("ax", TWO, 2, 1 / 2, 1 / (1 + SECOND)),
    ("xa", TWO, 2, 1 / 2, SECOND / (1 + SECOND)),
    ("xy", TWO, 2, 0, 0),
    ("", TWO, 2, 0, 0),
    ("axb", TWO, 3, 1, (1 + THIRD) / (1 + SECOND)),
    ("axb", TWO, 2, 1 / 2, 1 / (1 + SECOND)),
    ("a", TWO, 5, 1 / 2, 1 / (1 + SECOND)),
    ("ab", {"a": 1}, 1, 1, 1),
    ("ab", {"a": 1, "b": 3}, 2, 1, (1 + 3 * SECOND) / (3 + SECOND)),
    ("xab", {"a": 1, "x": 0}, 3, 1, SECOND),
]


@pytest.mark.parametrize(("ranking", "grades", "k", "recall", "ndcg"), CASES)
def test_by_hand(ranking: str, grades: dict[str, int], k: int, recall: float, ndcg: float) -> None:
    assert recall_at(ranking, grades, k) == pytest.approx(recall)
    assert ndcg_at(ranking, grades, k) == pytest.approx(ndcg)


def test_by_trec_eval() -> None:
    pytrec_eval = pytest.importorskip("pytrec_eval")
    rng = random.Random(0)
    for _ in range(100):
        documents = [f"d{number}" for number in range(20)]
        grades = {document: rng.randint(0, 3) for document in rng.sample(documents, 8)}
        grades["d0"] = 1
        ranking = rng.sample(documents, rng.randint(1, 20))
        run = {document: float(len(ranking) - place) for place, document in enumerate(ranking)}
        evaluator = pytrec_eval.RelevanceEvaluator({"q": grades}, {"ndcg_cut.5,10", "recall.5,10"})
        expected = evaluator.evaluate({"q": run})["q"]
        for k in (5, 10):
            assert recall_at(ranking, grades, k) == pytest.approx(expected[f"recall_{k}"])
            assert ndcg_at(ranking, grades, k) == pytest.approx(expected[f"ndcg_cut_{k}"])


def test_all_searches_of_an_answer_count_and_the_first_is_ranked() -> None:
    searches = ((Found("a", "A"), Found("x", "X")), (Found("b", "B"),))
    item = Item("1", "Who?", 1, supporting_ids=("a", "b"))
    found = support(item, Prediction("1", "", searches), 2, By.ID)
    assert found is not None
    assert (found.recall, found.recall_at_k) == (1.0, 0.5)


def test_titles_where_the_question_knows_no_ids() -> None:
    passages = (Found("p1", "X"), Found("p2", "X"), Found("p3", "A"))
    found = support(Item("1", "Who?", 1, supporting_titles=("A",)), Prediction("1", "", (passages,)), 2, By.TITLE)
    assert found is not None
    assert found.recall_at_k == 1.0  # two passages of one article are one title


def test_without_a_search_nothing_was_found_and_without_gold_nothing_is_said() -> None:
    found = support(Item("1", "Who?", 1, supporting_ids=("a",)), Prediction("1", ""), 2, By.ID)
    assert found is not None
    assert (found.recall, found.recall_at_k, found.ndcg_at_k) == (0.0, 0.0, 0.0)
    assert support(Item("1", "Who?", 1), Prediction("1", ""), 2, By.ID) is None


def test_documents_are_told_by_ids_else_by_titles_else_not_at_all() -> None:
    item = Item("1", "Who?", 1, supporting_ids=("a-1",), supporting_titles=("A",))

    def by(*documents: Found, of: Item = item) -> str:
        return told_by([of], [Prediction("1", "", (documents,))])

    assert by(Found("a-1", "A")) is By.ID
    assert by(Found("7", "A")) is By.TITLE
    assert "no document that was found" in by(Found("7", "B"))
    assert "name no supporting" in by(Found("7", "B"), of=Item("1", "Who?", 1))
    assert "no search" in told_by([item], [Prediction("1", "")])
