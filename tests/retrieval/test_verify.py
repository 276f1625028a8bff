"""`verify` reads everything; damage that opening does not see is found."""

import shutil
from pathlib import Path

import pytest

from flare_local.errors import IndexFault
from flare_local.retrieval.lucene import LuceneIndex
from flare_local.retrieval.verify import verify
from tests.retrieval.builders import ROWS, built


def flipped(file: Path, at: int) -> None:
    data = bytearray(file.read_bytes())
    data[at] ^= 1
    file.write_bytes(data)


def test_whole_indexes_are_whole(index_path: Path, bm25s_path: Path, anserini_path: Path) -> None:
    assert verify(index_path) == verify(bm25s_path) == verify(anserini_path) == len(ROWS)


def test_verify_writes_nothing(index_path: Path) -> None:
    before = {file.name: file.stat().st_mtime_ns for file in index_path.iterdir()}
    verify(index_path)
    assert {file.name: file.stat().st_mtime_ns for file in index_path.iterdir()} == before


def test_a_flipped_bit_in_stored_text_is_found(tmp_path: Path) -> None:
    path = built(tmp_path, [{"id": str(number), "text": f"word {number} " * 50} for number in range(300)])
    (stored,) = path.glob("*.fdt")
    flipped(stored, stored.stat().st_size // 2)
    LuceneIndex.open(path).close()
    with pytest.raises(IndexFault, match="is corrupt"):
        verify(path)


def test_changed_documents_of_bm25s_are_found(bm25s_path: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(bm25s_path, tmp_path / "copy"))
    documents = copy / "documents.jsonl"
    documents.write_text(documents.read_text().replace("Silas", "Salis"))
    with pytest.raises(IndexFault, match="are not those that were built"):
        verify(copy)
