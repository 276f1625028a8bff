"""Exemplars with documents: each question searched once for an index, and kept."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from flare_local.policies.exemplar_documents import with_documents
from flare_local.retrieval.document import Document
from flare_local.tasks.exemplars import Exemplar, Exemplars

OWN = Document("own", "", "Its own.", 0.0, 1)
EXEMPLARS = Exemplars(
    (Exemplar(" Who\nis it? ", "Ada."), Exemplar("Where?", "Here.", (OWN,)), Exemplar("When?", "Now."))
)


class Index:
    """Finds one document for every query, and counts."""

    def __init__(self, manifest_hash: str = "abc") -> None:
        self.manifest_hash = manifest_hash
        self.queries: list[str] = []

    def search_now(self, queries: Sequence[str], k: int) -> list[list[Document]]:
        self.queries += queries
        return [
            [Document(f"d-{query}", "T", f"{query} {rank}", 1.5, rank) for rank in range(1, k + 1)] for query in queries
        ]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FLARE_CACHE", str(tmp_path))
    return tmp_path


def test_bare_exemplars_get_documents_and_others_keep_theirs() -> None:
    index = Index()
    shown = with_documents(EXEMPLARS, index, 2, "")
    assert index.queries == ["Who is it?", "When?"]
    assert [[d.text for d in e.documents] for e in shown.examples] == [
        ["Who is it? 1", "Who is it? 2"],
        ["Its own."],
        ["When? 1", "When? 2"],
    ]


def test_a_second_run_reads_what_the_first_one_kept() -> None:
    first, again = Index(), Index()
    shown = with_documents(EXEMPLARS, first, 2, "")
    assert with_documents(EXEMPLARS, again, 2, "") == shown
    assert again.queries == []


@pytest.mark.parametrize("change", [{"manifest_hash": "other"}, {"k": 3}, {"ranking": "k1=2"}])
def test_another_index_ranking_or_number_is_asked_anew(change: dict[str, object]) -> None:
    with_documents(EXEMPLARS, Index(), 2, "")
    index = Index(str(change.get("manifest_hash", "abc")))
    with_documents(EXEMPLARS, index, int(str(change.get("k", 2))), str(change.get("ranking", "")))
    assert index.queries == ["Who is it?", "When?"]


def test_a_broken_file_is_made_anew(cache: Path) -> None:
    with_documents(EXEMPLARS, Index(), 2, "")
    (kept,) = (cache / "exemplars").iterdir()
    for text in (
        "",
        "{",
        '{"manifest_hash": "abc", "found": [[{"id": 1}]]}',
        '{"manifest_hash": "abc", "found": [[]]}',
    ):
        kept.write_text(text)
        index = Index()
        assert with_documents(EXEMPLARS, index, 2, "").examples[0].documents
        assert index.queries
