"""An index is a folder, or a prebuilt one by the name Pyserini gives it."""

import shutil
from pathlib import Path

import pytest

from flare_local.errors import IndexFault
from flare_local.retrieval.lucene import LuceneIndex
from flare_local.retrieval.open import open_index


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty Pyserini cache; the working folder is empty too."""
    (tmp_path / "working").mkdir()
    monkeypatch.chdir(tmp_path / "working")
    monkeypatch.setenv("PYSERINI_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "cache" / "indexes"
    folder.mkdir(parents=True)
    return folder


@pytest.mark.parametrize(
    ("name", "folder"),
    [
        ("wikipedia-dpr-100w", "lucene-index.wikipedia-dpr-100w.20210120.d1b9e6.7b58c08da992b2ea7e96667f0b176651"),
        ("wikipedia-dpr", "lucene-index.wikipedia-dpr-100w.20210120.d1b9e6.7b58c08da992b2ea7e96667f0b176651"),
        ("beir-v1.0.0-nq.flat", "lucene-inverted.beir-v1.0.0-nq.flat.20221116.505594.abc"),
        ("cacm", "lucene-index.cacm.e47164fbd18aab72cdc18aecc0744bb1"),
        ("enwiki-paragraphs", "lucene-index.enwiki-20180701-paragraphs.77d1cd530579905dad2ee3c2bda1b73d"),
    ],
)
def test_prebuilt_indexes_are_found_by_name(cache: Path, anserini_path: Path, name: str, folder: str) -> None:
    shutil.copytree(anserini_path, cache / folder)
    (cache / "lucene-index.wikipedia-dpr-100w-slim.20210120.d1b9e6.fff").mkdir()
    (cache / "lucene-inverted.beir-v1.0.0-nq.flat.tar.gz").touch()
    with open_index(name) as index:
        assert index.path == cache / folder


def test_a_prebuilt_index_that_is_not_there_comes_with_the_command(cache: Path) -> None:
    with pytest.raises(IndexFault, match=r"wikipedia-dpr-100w is not in .*from_prebuilt_index\('wikipedia-dpr-100w'\)"):
        open_index("wikipedia-dpr-100w")


def test_a_name_that_nobody_knows(cache: Path) -> None:
    with pytest.raises(IndexFault, match=r"no folder 'nothing'.*flare-local index build"):
        open_index("nothing")
    shutil.rmtree(cache.parent)
    with pytest.raises(IndexFault, match="no folder 'nothing'"):
        open_index("nothing")


def test_a_folder_wins_over_a_prebuilt_name(cache: Path, index_path: Path) -> None:
    shutil.copytree(index_path, "cacm")
    (cache / "lucene-index.cacm.abc").mkdir()
    with open_index("cacm") as index:
        assert index.path == Path("cacm").absolute()


def test_paths_that_are_no_index(cache: Path, tmp_path: Path) -> None:
    file, empty = tmp_path / "file", tmp_path / "empty"
    file.touch()
    empty.mkdir()
    cases = {
        file: "is a file, not the folder",
        empty: "is empty: it holds no index",
        tmp_path / "absent": "There is no index at",
        "./absent": "There is no index at",
        "x" * 300: "File name too long",
        "nul\0": "no folder 'nul",
        "~nobody-is-called-so/index": "cannot be read: Could not determine home directory",
        "": "holds no",
    }
    for path, message in cases.items():
        with pytest.raises(IndexFault, match=message):
            LuceneIndex.open(path)
