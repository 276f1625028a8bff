"""An index appears whole or not at all, and says what went into it."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from flare_local.errors import CorpusError, DiskFull, IndexFault, UsageError
from flare_local.retrieval import build, build_folder, lucene_writer
from flare_local.retrieval.build import Stage, build_index
from flare_local.retrieval.build_folder import BuildFolder
from flare_local.retrieval.lucene import LuceneIndex
from flare_local.retrieval.manifest import read_manifest
from flare_local.retrieval.open import open_index
from tests.retrieval.builders import ROWS, built, jsonl

BOTH_KINDS = pytest.mark.parametrize("kind", ["lucene", "bm25s"])


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def ids(path: Path, query: str) -> list[str]:
    with open_index(path) as index:
        return [document.id for document in index.search_now([query], 10)[0]]


@BOTH_KINDS
def test_a_build_leaves_the_index_and_nothing_else(tmp_path: Path, kind: str) -> None:
    path = built(tmp_path, kind=kind)
    assert names(tmp_path) == {"corpus.jsonl", "index"}
    assert "building.lock" not in names(path)
    assert ids(path, "harbour") == ["harbour", "untitled"]


def test_the_manifest_tells_where_the_index_came_from(tmp_path: Path) -> None:
    rows = [*ROWS, {"id": "empty", "text": " "}, {"id": "again", "text": ROWS[-1]["text"]}]
    manifest = read_manifest(built(tmp_path, rows))
    assert manifest is not None
    assert (manifest.kind, manifest.documents, manifest.source_format) == ("lucene", len(ROWS) + 1, "jsonl")
    assert (manifest.empty, manifest.duplicates, manifest.skipped) == (1, 1, 0)
    assert manifest.source == str(tmp_path / "corpus.jsonl")
    assert manifest.fields == ("contents", "title", "text")
    assert set(manifest.versions) == {"java", "lucene", "anserini", "flare-local"}


@BOTH_KINDS
def test_the_same_corpus_has_the_same_hash_wherever_it_lies(tmp_path: Path, kind: str) -> None:
    hashes = []
    for place in ("one", "two"):
        with open_index(built(tmp_path / place, kind=kind)) as index:
            hashes.append(index.manifest_hash)
    with open_index(built(tmp_path / "three", ROWS[:-1], kind=kind)) as index:
        hashes.append(index.manifest_hash)
    assert hashes[0] == hashes[1] != hashes[2]


@BOTH_KINDS
def test_broken_entries_end_the_build_or_are_listed(tmp_path: Path, kind: str) -> None:
    rows = [ROWS[0], "{broken", *ROWS[1:], {"id": "harbour", "text": "again"}]
    with pytest.raises(CorpusError, match="line 2: not JSON"):
        built(tmp_path, rows, kind=kind)
    assert names(tmp_path) == {"corpus.jsonl"}
    report = build_index(tmp_path / "corpus.jsonl", tmp_path / "index", kind=kind, skip_bad=True)
    assert report.manifest.skipped == 2
    assert [line.split(": ")[0][-7:] for line in report.skipped] == [" line 2", " line 8"]
    assert (report.path / "skipped.txt").read_text().splitlines() == list(report.skipped)


@BOTH_KINDS
def test_a_corpus_without_text_is_refused(tmp_path: Path, kind: str) -> None:
    with pytest.raises(CorpusError, match="holds no document with text"):
        built(tmp_path, [{"id": "1", "text": ""}], kind=kind)
    assert names(tmp_path) == {"corpus.jsonl"}


@BOTH_KINDS
def test_passages_of_stop_words_alone_are_kept_and_never_found(tmp_path: Path, kind: str) -> None:
    assert ids(built(tmp_path, [{"id": "1", "text": "to the of"}], kind=kind), "the of") == []


def test_progress_is_told_in_documents_and_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "BATCH", 4)
    stages: list[Stage] = []
    built(tmp_path, progress=stages.append)
    size = (tmp_path / "corpus.jsonl").stat().st_size
    assert [(stage.documents, stage.finishing) for stage in stages] == [(4, False), (6, False), (6, True)]
    assert stages[-1].bytes_read == stages[-1].total_bytes == size


def test_a_folder_that_is_there_is_replaced_only_by_force_and_only_if_it_is_an_index(tmp_path: Path) -> None:
    path = built(tmp_path)
    with pytest.raises(UsageError, match=r"exists already.*--force"):
        built(tmp_path, ROWS[:1])
    assert ids(path, "tower") == ["tower"]
    built(tmp_path, ROWS[:1], force=True)
    assert ids(path, "tower") == []
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "thesis.txt").write_text("years of work")
    with pytest.raises(UsageError, match="not an index"):
        build_index(tmp_path / "corpus.jsonl", tmp_path / "home", force=True)
    with pytest.raises(UsageError, match="is a file"):
        build_index(tmp_path / "corpus.jsonl", tmp_path / "corpus.jsonl", force=True)
    assert names(tmp_path) == {"corpus.jsonl", "index", "home"}
    assert names(tmp_path / "home") == {"thesis.txt"}


def test_a_failed_rebuild_leaves_the_old_index(tmp_path: Path) -> None:
    path = built(tmp_path)
    with pytest.raises(CorpusError):
        built(tmp_path, ["broken"], force=True)
    assert ids(path, "tower") == ["tower"]


def test_an_empty_folder_and_missing_parents_are_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / "index").mkdir()
    built(tmp_path)
    assert build_index(tmp_path / "corpus.jsonl", tmp_path / "a" / "b" / "c").path.is_dir()


def test_leavings_of_a_killed_build_are_cleared_and_never_opened(tmp_path: Path) -> None:
    leaving = tmp_path / ".index.flare-building"
    (leaving / "bm25s").mkdir(parents=True)
    (leaving / "_0.fdt").write_bytes(b"half")
    with pytest.raises(IndexFault, match="half-built"):
        LuceneIndex.open(leaving)
    built(tmp_path)
    assert names(tmp_path) == {"corpus.jsonl", "index"}


def test_a_build_killed_between_its_two_renames_gives_the_old_index_back(tmp_path: Path) -> None:
    path = built(tmp_path)
    path.rename(tmp_path / ".index.flare-old")
    with pytest.raises(UsageError, match="exists already"):
        built(tmp_path)
    assert ids(path, "tower") == ["tower"]


def test_two_builds_of_one_index_exclude_each_other(tmp_path: Path) -> None:
    first = BuildFolder.claim(tmp_path / "index", force=False)
    with pytest.raises(UsageError, match="is being built by another process"):
        built(tmp_path)
    first.discard()
    built(tmp_path)


def test_documents_lost_on_the_way_are_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lucene_writer.LuceneWriter, "finish", lambda self: 5)
    with pytest.raises(IndexFault, match="holds 5 documents instead of 6"):
        built(tmp_path)
    assert names(tmp_path) == {"corpus.jsonl"}


def test_too_little_disk_is_said_before_work_begins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build.shutil, "disk_usage", lambda _: type("Usage", (), {"free": 100})())
    with pytest.raises(DiskFull, match=r"has 0 MiB free; the index needs"):
        built(tmp_path)
    assert names(tmp_path) == {"corpus.jsonl"}


def test_a_read_only_place_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def read_only(*_: object, **__: object) -> None:  # root may write everywhere, so chmod would not do
        raise OSError(30, "Read-only file system")

    corpus = jsonl(tmp_path / "corpus.jsonl", ROWS)
    monkeypatch.setattr(build_folder.Path, "mkdir", read_only)
    with pytest.raises(DiskFull, match="cannot be written: Read-only file system"):
        build_index(corpus, tmp_path / "index")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 1 MiB."""
    place = tmp_path / "small"
    place.mkdir()
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small file system")
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", place], capture_output=True)
    if mounted.returncode:
        pytest.skip(f"no tmpfs can be mounted: {mounted.stderr.decode().strip()}")
    yield place
    subprocess.run(["umount", "--lazy", place], check=True)


@BOTH_KINDS
def test_a_disk_that_fills_up_is_said_and_left_clean(
    tmp_path: Path, small_disk: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build, "INDEX_PER_CORPUS", 0)
    rows = [{"id": str(i), "text": f"{i * 7919} {i * 104729} {i * 1299709} {hash(str(i))}"} for i in range(20_000)]
    corpus = jsonl(tmp_path / "corpus.jsonl", rows)
    with pytest.raises(DiskFull):
        build_index(corpus, small_disk / "index", kind=kind)
    assert names(small_disk) == set()


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"kind": "solr"}, "Unknown kind of index 'solr'"),
        ({"words": 0}, "--words is 0"),
        ({"threads": 0}, "--threads is 0"),
        ({"memory": "lots"}, "Java memory 'lots' is not a size"),
    ],
)
def test_wrong_options_are_refused(tmp_path: Path, option: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        built(tmp_path, **option)
    assert names(tmp_path) == {"corpus.jsonl"}


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": 1}', '{"format": "x"}', '{"format": 99}'])
def test_a_broken_manifest_is_a_corrupt_index(tmp_path: Path, text: str) -> None:
    path = built(tmp_path)
    (path / "flare_index.json").write_text(text)
    with pytest.raises(IndexFault, match=r"flare_index.json|newer flare-local"):
        open_index(path)


def test_a_manifest_of_other_documents_is_a_corrupt_index(tmp_path: Path) -> None:
    path = built(tmp_path)
    manifest = json.loads((path / "flare_index.json").read_text())
    (path / "flare_index.json").write_text(json.dumps({**manifest, "documents": 7}))
    with pytest.raises(IndexFault, match="6 documents, but 7 were built"):
        open_index(path)


def test_an_interrupt_between_the_two_renames_gives_the_old_index_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = built(tmp_path)
    rename = Path.rename

    def interrupted(self: Path, to: Path) -> Path:
        if self.name == ".index.flare-building":
            raise KeyboardInterrupt
        return rename(self, to)

    monkeypatch.setattr(Path, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt):
        built(tmp_path, ROWS[:1], force=True)
    assert names(tmp_path) == {"corpus.jsonl", "index"}
    assert ids(path, "tower") == ["tower"]


def test_little_memory_is_enough_for_a_small_heap(tmp_path: Path) -> None:
    code = "import sys; from flare_local.retrieval.build import build_index; build_index(*sys.argv[1:], memory='64m')"
    rows = [{"id": str(number), "text": f"word{number} " * 200} for number in range(5_000)]
    corpus = jsonl(tmp_path / "corpus.jsonl", rows)
    done = subprocess.run([sys.executable, "-c", code, corpus, tmp_path / "index"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert ids(tmp_path / "index", "word4999") == ["4999"]


def test_no_index_is_built_inside_an_index(tmp_path: Path) -> None:
    (tmp_path / "index").mkdir()
    (tmp_path / "index" / "flare_index.json").write_text("{}")
    with pytest.raises(UsageError, match="inside the index"):
        BuildFolder.claim(tmp_path / "index" / "inner", force=False)
