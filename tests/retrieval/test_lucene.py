"""What Lucene returns, in which order, with which scores; and which indexes are refused, in which words."""

import asyncio
import json
import shutil
import struct
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from flare_local.errors import FlareError, IndexFault, UsageError
from flare_local.retrieval.document import Document
from flare_local.retrieval.lucene import LuceneIndex
from flare_local.retrieval.open import open_index
from tests.retrieval.bm25_by_hand import scores
from tests.retrieval.builders import ROWS, built, built_by_anserini

QUERIES = [
    "harbour",
    "who built the bridge over the harbour",
    "ship captain Silas",
    "Größe 東京",
    "nothing matches zzz",
]
PLAIN = [
    {"id": "a", "title": "red fox", "text": "red dog dog sun"},
    {"id": "b", "title": "dog", "text": "red fox fox moon moon tree"},
    {"id": "c", "title": "", "text": "sun moon dog"},
    {"id": "d", "title": "sun", "text": "tree tree tree"},
]


def ranked(index: LuceneIndex, query: str, k: int = 10) -> list[tuple[str, float]]:
    return [(document.id, document.score) for document in index.search_now([query], k)[0]]


def ids(index: LuceneIndex, query: str, k: int = 10) -> list[str]:
    return [name for name, _ in ranked(index, query, k)]


def test_a_hit_is_the_document_as_it_was_given(index: LuceneIndex) -> None:
    first = index.search_now(["Grey Heron captain"], 1)[0]
    assert first == [
        Document("ship", "Grey Heron", "The Grey Heron is a ship. Its captain was Silas Belden.", first[0].score, 1)
    ]
    assert index.search_now(["東京"], 1)[0][0].text == "Ein Café in 東京 serves naïve 😀 crème brûlée to Москва."


def test_ranks_count_from_one_and_k_bounds_them(index: LuceneIndex) -> None:
    assert [document.rank for document in index.search_now(["harbour ship"], 10)[0]] == [1, 2, 3, 4]
    assert ids(index, "harbour ship", 2) == ids(index, "harbour ship", 10)[:2]
    assert len(ids(index, "harbour ship", 10**9)) == 4
    for k in (0, -1):
        with pytest.raises(UsageError, match=f"top-k is {k}"):
            index.search_now(["harbour"], k)


def test_the_default_ranking_is_that_of_an_index_built_by_anserini(index: LuceneIndex, anserini_path: Path) -> None:
    with LuceneIndex.open(anserini_path) as theirs:
        for query in QUERIES:
            assert ranked(index, query) == ranked(theirs, query)


def test_several_queries_are_answered_in_their_order(index: LuceneIndex) -> None:
    together = index.search_now(QUERIES, 3)
    assert together == [index.search_now([query], 3)[0] for query in QUERIES]
    assert asyncio.run(index.search(QUERIES, 3)) == together
    assert asyncio.run(index.search([], 3)) == []


@pytest.mark.parametrize(("k1", "b"), [(None, None), (1.2, 0.75), (0.0, 0.0), (2.0, 1.0)])
def test_scores_are_bm25_over_title_and_text_together(tmp_path: Path, k1: float | None, b: float | None) -> None:
    documents = {row["id"]: f"{row['title']} {row['text']}".strip() for row in PLAIN}
    with LuceneIndex.open(built(tmp_path, PLAIN), k1=k1, b=b) as index:
        for query in ("dog", "red fox sun", "moon tree tree"):
            expected = scores(documents, query, 0.9 if k1 is None else k1, 0.4 if b is None else b)
            assert dict(ranked(index, query)) == pytest.approx(expected, abs=2e-4)


def test_paper_scoring_is_the_best_field_and_half_the_other(tmp_path: Path) -> None:
    titles = {row["id"]: row["title"] for row in PLAIN}
    texts = {row["id"]: row["text"] for row in PLAIN}
    queries = ("dog", "red fox sun", "moon tree tree", "absent")
    with LuceneIndex.open(built(tmp_path, PLAIN), scoring="paper") as index:
        for query, together in zip(queries, index.search_now(queries, 10), strict=True):
            by_title, by_text = scores(titles, query, 1.2, 0.75), scores(texts, query, 1.2, 0.75)
            expected = {}
            for name in by_title.keys() | by_text.keys():
                low, high = sorted((by_title.get(name, 0.0), by_text.get(name, 0.0)))
                expected[name] = high + 0.5 * low
            assert dict(ranked(index, query)) == pytest.approx(expected, abs=2e-4)
            assert [(document.id, document.score) for document in together] == ranked(index, query)


def test_equal_scores_are_ordered_by_id(tmp_path: Path) -> None:
    rows = [{"id": name, "text": "the same words"} for name in ("9", "b", "10", "a", "é", "Z")]
    with LuceneIndex.open(built(tmp_path, rows)) as index:
        assert ids(index, "same words") == ["10", "9", "Z", "a", "b", "é"]
        assert ids(index, "same words", 3) == ["10", "9", "Z"]


@pytest.mark.parametrize("query", ["", "  \n\t", "the of and", "?!*~", "🎻", "\ud800", "\0", "𝔘𝔫𝔦"])
def test_queries_without_a_known_word_find_nothing(index: LuceneIndex, query: str) -> None:
    assert ranked(index, query) == []


@pytest.mark.parametrize(
    "query",
    ["harbour\ud800", "har\udfffbour harbour", "\0harbour\0", '"harbour"', "+harbour -bridge AND (x:y) [a TO b]^2~3"],
)
def test_strange_signs_are_only_signs_between_words(index: LuceneIndex, query: str) -> None:
    assert "harbour" in ids(index, query)


def test_a_query_of_three_thousand_words_is_answered(index: LuceneIndex) -> None:
    assert ids(index, " ".join(f"w{number}" for number in range(3000)) + " harbour") == ["harbour", "untitled"]


def test_a_query_beyond_all_bounds_is_refused_and_spares_the_others(index: LuceneIndex) -> None:
    endless = " ".join(f"w{number}" for number in range(140_000))
    with pytest.raises(UsageError, match="too many different words"):
        index.search_now([endless], 1)

    async def both() -> list[object]:
        return await asyncio.gather(index.search(["tower"], 1), index.search([endless], 1), return_exceptions=True)

    good, bad = asyncio.run(both())
    assert isinstance(good, list)
    assert good[0][0].id == "tower"
    assert isinstance(bad, UsageError)


def test_a_repeated_word_counts_again(index: LuceneIndex) -> None:
    once, twice = dict(ranked(index, "harbour ship")), dict(ranked(index, "harbour harbour ship"))
    assert twice["harbour"] > once["harbour"]
    assert twice["ship"] == once["ship"]


def test_a_closed_index_says_so(index_path: Path) -> None:
    opened = LuceneIndex.open(index_path)
    opened.close()
    opened.close()
    with pytest.raises(IndexFault, match="was closed"):
        opened.search_now(["harbour"], 1)


def test_count_path_and_hash_tell_indexes_apart(index: LuceneIndex, index_path: Path, anserini_path: Path) -> None:
    with LuceneIndex.open(anserini_path) as theirs, LuceneIndex.open(anserini_path) as again:
        assert (index.count, index.path) == (len(ROWS), index_path)
        assert theirs.count == len(ROWS)
        assert theirs.manifest is None
        assert theirs.manifest_hash == again.manifest_hash != index.manifest_hash


def test_stored_json_of_others_is_understood(tmp_path: Path) -> None:
    rows = {
        "both": {"contents": "Title\nThe text of both.", "title": "Title"},
        "contents": {"contents": "Just a text of contents."},
        "dpr": {"contents": '"Aaron"\nAaron is a text of dpr.'},
        "three": {"contents": "T text text", "title": "T", "text": "The text of three."},
    }
    expected = {
        "both": ("Title", "The text of both."),
        "contents": ("", "Just a text of contents."),
        "dpr": ("Aaron", "Aaron is a text of dpr."),
        "three": ("T", "The text of three."),
    }
    path = built_by_anserini(tmp_path, [{"id": name, **row} for name, row in rows.items()], "-storeRaw")
    with LuceneIndex.open(path) as index:
        found = index.search_now(["text"], 10)[0]
    assert {document.id: (document.title, document.text) for document in found} == expected


def test_an_index_without_stored_text_is_refused(tmp_path: Path) -> None:
    path = built_by_anserini(tmp_path, [{"id": "1", "contents": "text"}])
    with pytest.raises(IndexFault, match=r"stores no text.*--storeRaw"):
        LuceneIndex.open(path)


def test_paper_scoring_needs_its_fields(anserini_path: Path, tmp_path: Path) -> None:
    with pytest.raises(IndexFault, match="no indexed field title and text, which `--bm25 paper` needs"):
        LuceneIndex.open(anserini_path, scoring="paper")
    rows = [{"id": "1", "contents": "dog", "title": "dog", "text": "fox"}]
    with LuceneIndex.open(
        built_by_anserini(tmp_path, rows, "-storeRaw", "-fields", "title", "text"), scoring="paper"
    ) as index:
        assert ids(index, "fox") == ["1"]


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"k1": -1}, "k1 is -1"),
        ({"k1": float("inf")}, "k1 is inf"),
        ({"k1": float("nan")}, "k1 is nan"),
        ({"b": 1.5}, "b is 1.5"),
        ({"b": float("nan")}, "b is nan"),
        ({"scoring": "tf"}, "Unknown BM25 scoring 'tf'"),
        ({"threads": 0}, "0 search threads"),
    ],
)
def test_options_without_a_meaning_are_refused(index_path: Path, option: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        open_index(index_path, **option)  # type: ignore[arg-type]


def cut(suffix: str, size: int) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        for file in folder.glob(f"*{suffix}"):
            file.write_bytes(file.read_bytes()[:size])

    return damage


def removed(pattern: str) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        for file in folder.glob(pattern):
            file.unlink()

    return damage


def of_lucene_10(folder: Path) -> None:
    """Say in the commit file that Lucene 10.5.0 wrote and made the index, and mend its checksum."""
    (segments,) = folder.glob("segments_*")
    data = bytearray(segments.read_bytes())
    at = data.index(bytes([9, 9, 1, 9]))
    data[at : at + 4] = bytes([10, 5, 0, 10])
    data[-8:] = struct.pack(">Q", zlib.crc32(data[:-8]))
    segments.write_bytes(data)


def garbage(folder: Path) -> None:
    (segments,) = folder.glob("segments_*")
    segments.write_bytes(b"garbage " * 40)


def without_documents(folder: Path) -> None:
    removed("*")(folder)
    (folder / "flare_index.json").write_text("{")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (removed("segments_*"), "holds no complete Lucene index"),
        (removed("*"), "is empty: it holds no index"),
        (removed("*.fdt"), "is corrupt: a file is missing, truncated or damaged"),
        (removed("*.tim"), "is corrupt: a file is missing, truncated or damaged"),
        (cut(".fdt", 100), "is corrupt: a file is missing, truncated or damaged"),
        (cut(".doc", 20), "is corrupt: a file is missing, truncated or damaged"),
        (cut(".si", 0), "is corrupt: a file is missing, truncated or damaged"),
        (cut("segments_1", 10), "corrupt"),
        (garbage, "corrupt or was built by a Lucene too old"),
        (of_lucene_10, "was built by a newer Lucene"),
        (without_documents, "flare_index.json cannot be read"),
    ],
)
def test_a_damaged_index_is_refused_in_plain_words(
    index_path: Path, tmp_path: Path, damage: Callable[[Path], None], message: str
) -> None:
    copy = Path(shutil.copytree(index_path, tmp_path / "copy"))
    damage(copy)
    with pytest.raises(IndexFault) as error:
        open_index(copy)
    assert message in str(error.value)
    assert str(copy) in str(error.value)
    assert "jnius" not in str(error.value)
    assert "Exception" not in str(error.value)


def test_an_index_whose_files_change_while_it_is_open_fails_in_plain_words(index_path: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(index_path, tmp_path / "copy"))
    with LuceneIndex.open(copy) as index:
        index._java.run(index._searcher.close)
        with pytest.raises(FlareError) as error:
            index.search_now(["harbour"], 1)
    assert "Exception" not in str(error.value)


def test_the_stored_text_is_what_pyserini_reads(index: LuceneIndex) -> None:
    raw = json.loads(index._java.run(lambda: index._searcher.doc_raw("ship")))
    assert raw == {"id": "ship", "title": ROWS[1]["title"], "contents": f"{ROWS[1]['title']}\n{ROWS[1]['text']}"}
