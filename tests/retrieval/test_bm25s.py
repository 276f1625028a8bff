"""bm25s in Lucene's place: the same methods, close scores, and none of its own surprises."""

import asyncio
import builtins
import shutil
from pathlib import Path
from typing import Any

import pytest

from flare_local.errors import IndexFault, UsageError
from flare_local.retrieval.bm25s import Bm25sIndex
from flare_local.retrieval.bm25s_words import words
from flare_local.retrieval.lucene import LuceneIndex
from flare_local.retrieval.open import open_index
from tests.retrieval.bm25_by_hand import scores
from tests.retrieval.builders import ROWS, built
from tests.retrieval.test_lucene import PLAIN


def ids(index: Bm25sIndex | LuceneIndex, query: str, k: int = 10) -> list[str]:
    return [document.id for document in index.search_now([query], k)[0]]


def test_the_kind_is_known_from_the_folder(bm25s_path: Path, index_path: Path) -> None:
    with open_index(bm25s_path) as one, open_index(index_path) as other:
        assert (type(one), type(other)) == (Bm25sIndex, LuceneIndex)
        assert (one.count, one.path) == (len(ROWS), bm25s_path)
    with pytest.raises(IndexFault, match="is of kind bm25s, not lucene"):
        LuceneIndex.open(bm25s_path)
    with pytest.raises(IndexFault, match="is not of kind bm25s"):
        Bm25sIndex.open(index_path)


def test_it_finds_what_lucene_finds(bm25s_path: Path, index: LuceneIndex) -> None:
    with Bm25sIndex.open(bm25s_path) as other:
        for query in ("harbour", "the ships' captain", "who built the bridge", "Größe 東京", "crème brûlée"):
            assert ids(other, query) == ids(index, query)
        assert other.search_now(["harbour"], 1)[0][0].text == index.search_now(["harbour"], 1)[0][0].text


@pytest.mark.parametrize(("k1", "b"), [(None, None), (1.2, 0.75)])
def test_scores_are_bm25(tmp_path: Path, k1: float | None, b: float | None) -> None:
    documents = {row["id"]: f"{row['title']} {row['text']}".strip() for row in PLAIN}
    with Bm25sIndex.open(built(tmp_path, PLAIN, kind="bm25s"), k1=k1, b=b) as index:
        for query in ("dog", "red fox sun", "moon tree tree"):
            expected = scores(documents, query, 0.9 if k1 is None else k1, 0.4 if b is None else b)
            found = {document.id: document.score for document in index.search_now([query], 10)[0]}
            assert found == pytest.approx(expected, abs=1e-5)


def test_equal_scores_are_ordered_by_id(tmp_path: Path) -> None:
    rows = [{"id": name, "text": "the same words"} for name in ("9", "b", "10", "a")]
    with Bm25sIndex.open(built(tmp_path, rows, kind="bm25s")) as index:
        assert ids(index, "same words") == ["10", "9", "a", "b"]
        assert ids(index, "same words", 2) == ["10", "9"]


@pytest.mark.parametrize("query", ["", "the of and", "zzz", "🎻", "\ud800", "\0", "?!"])
def test_what_shares_no_word_is_never_returned(bm25s_path: Path, query: str) -> None:
    with Bm25sIndex.open(bm25s_path) as index:
        assert ids(index, query) == []


def test_queries_run_in_tasks_and_in_their_order(bm25s_path: Path) -> None:
    with Bm25sIndex.open(bm25s_path) as index:
        queries = ["harbour", "", "tower"] * 20
        assert asyncio.run(index.search(queries, 2)) == index.search_now(queries, 2)
        with pytest.raises(UsageError, match="top-k is 0"):
            index.search_now(["x"], 0)
    with pytest.raises(IndexFault, match="was closed"):
        index.search_now(["x"], 1)


def test_paper_scoring_is_lucenes_alone(bm25s_path: Path) -> None:
    with pytest.raises(UsageError, match="`--bm25 paper` needs an index of kind lucene"):
        open_index(bm25s_path, scoring="paper")


@pytest.mark.parametrize("name", ["documents.jsonl", "bm25s/data.csc.index.npy", "bm25s/params.index.json", "bm25s"])
@pytest.mark.parametrize("how", ["missing", "truncated"])
def test_a_damaged_index_is_refused_in_plain_words(bm25s_path: Path, tmp_path: Path, name: str, how: str) -> None:
    copy = Path(shutil.copytree(bm25s_path, tmp_path / "copy"))
    file = copy / name
    if file.is_dir():
        shutil.rmtree(file)
    elif how == "missing":
        file.unlink()
    else:
        file.write_bytes(file.read_bytes()[:-20])
    with pytest.raises(IndexFault, match="is corrupt"):
        open_index(copy)


def test_a_missing_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any, **named: Any) -> Any:
        if name == "Stemmer":
            raise ImportError("No module named 'Stemmer'", name="Stemmer")
        return real(name, *rest, **named)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(UsageError, match=r"Stemmer is not installed.*scripts/setup.sh bm25s"):
        built(tmp_path, kind="bm25s")


def test_words_are_lucenes() -> None:
    assert words("The U.S.A.'s ships' captains, 3.14 Running: O'Neil's naïve A") == [
        "u.s.a",
        "ship",
        "captain",
        "3.14",
        "run",
        "o'neil",
        "naïv",
    ]
