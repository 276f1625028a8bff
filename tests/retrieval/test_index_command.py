"""`flare-local index`: results on stdout, everything else on stderr, one clear line where something is wrong."""

import json
import shutil
from pathlib import Path

import pytest

from tests.cli.shell import Said, Shell, is_one_clear_line
from tests.retrieval.builders import ROWS, built_by_anserini, jsonl


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """Command lines in an empty working folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYSERINI_CACHE", str(tmp_path / "no-cache"))
    return Shell(capsys)


def ids(said: Said) -> list[str]:
    assert said.code == 0, said.err
    return [document["id"] for document in json.loads(said.out)["documents"]]


@pytest.mark.parametrize("kind", ["lucene", "bm25s"])
def test_build_info_search_and_verify(shell: Shell, tmp_path: Path, kind: str) -> None:
    corpus = jsonl(tmp_path / "corpus.jsonl.gz", [*ROWS, "{broken", {"id": "empty", "text": ""}])
    said = shell("index", "build", corpus, "--out", "my-index", "--kind", kind, "--skip-bad")
    assert (said.code, said.out) == (0, f"{tmp_path / 'my-index'}\n")
    assert "line 7: not JSON" in said.err
    assert "6 documents indexed; 1 broken ones left out; 1 without text left out." in said.err
    info = shell("index", "info", "my-index")
    assert f"kind        {kind}\ndocuments   6\n" in info.out
    values = json.loads(shell("index", "info", "my-index", "--json").out)
    assert (values["documents"], values["manifest"]["source_format"]) == (6, "jsonl")
    found = json.loads(shell("index", "search", "captain", "--index", "my-index", "--json").out)
    assert found["query"] == "captain"
    assert found["index"] == {"path": str(tmp_path / "my-index"), "hash": values["hash"]}
    assert {key: found["documents"][0][key] for key in ("id", "title", "text", "rank")} == {**ROWS[1], "rank": 1}
    assert shell("index", "verify", "my-index").out == "6 documents, all whole\n"


def test_files_of_other_kinds_are_counted(shell: Shell, tmp_path: Path) -> None:
    texts = tmp_path / "texts"
    texts.mkdir()
    for name in ("a.txt", "b.md", "c.pdf", "d.html", ".hidden"):
        (texts / name).write_text(f"Anna sailed from {name}.", encoding="utf-8")
    said = shell("index", "build", texts, "--out", "of-texts", "--kind", "bm25s")
    assert "2 documents indexed; 2 files of other kinds passed over." in said.err


def test_search_shows_documents_for_reading(shell: Shell, index_path: Path) -> None:
    said = shell("index", "search", "harbour bridge", "--index", index_path, "--k", "1")
    first, second = said.out.splitlines()
    assert first.startswith("1. Harbour Bridge  [harbour, ")
    assert second == "   The bridge over the harbour was built by Clara Tarrow."
    assert said.err == ""


def test_no_hit_is_no_error(shell: Shell, index_path: Path) -> None:
    said = shell("index", "search", "zzz", "--index", index_path)
    assert (said.code, said.out) == (0, "")
    assert "No document" in said.err
    assert ids(shell("index", "search", "", "--index", index_path, "--json")) == []


def test_ranking_can_be_chosen(shell: Shell, index_path: Path) -> None:
    outs = {
        tuple(options): shell("index", "search", "harbour bridge", "--index", index_path, "--json", *options).out
        for options in ([], ["--bm25", "paper"], ["--k1", "2"], ["--b", "0"])
    }
    assert len(set(outs.values())) == 4


def test_texts_of_documents_cannot_steer_the_terminal(shell: Shell, tmp_path: Path) -> None:
    rows = [{"id": "[red]1", "title": "[bold]\x1b[31m", "text": "a\x07b \u202e [/link] \x9b"}]
    shell("index", "build", jsonl(tmp_path / "c.jsonl", rows), "--out", "i")
    said = shell("index", "search", "bold", "--index", "i")
    assert said.out.splitlines()[0].startswith(r"1. [bold]\x1b[31m  [[red]1, ")
    assert said.out.splitlines()[1] == r"   a\x07b \u202e [/link] \x9b"


def test_an_index_without_a_manifest_is_described(shell: Shell, anserini_path: Path) -> None:
    said = shell("index", "info", anserini_path)
    assert "documents   6\n" in said.out
    assert "fields      contents, id\n" in said.out
    assert json.loads(shell("index", "info", anserini_path, "--json").out)["manifest"] is None


def test_folders_beir_dpr_and_text_are_built(shell: Shell, tmp_path: Path) -> None:
    jsonl(tmp_path / "beir" / "corpus.jsonl", [{"_id": "b", "title": "B", "text": "harbour"}])
    (tmp_path / "psgs_w100.tsv").write_text("id\ttext\ttitle\nd\tharbour\tD\n")
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "t.md").write_text("# T\nharbour one two three")
    for corpus, expected in (("beir", ["b"]), ("psgs_w100.tsv", ["d"]), ("texts", ["t.md#1"])):
        shell("index", "build", corpus, "--out", "i", "--force", "--words", "3")
        assert ids(shell("index", "search", "harbour", "--index", "i", "--json")) == expected


BAD = {
    "missing corpus": ("build", "absent.jsonl", "--out", "i"),
    "empty corpus": ("build", "empty.jsonl", "--out", "i"),
    "broken line": ("build", "broken.jsonl", "--out", "i"),
    "no text": ("build", "notext.jsonl", "--out", "i"),
    "not UTF-8": ("build", "latin1.jsonl", "--out", "i"),
    "unknown format": ("build", "corpus.pdf", "--out", "i"),
    "no corpus in folder": ("build", "folder", "--out", "i"),
    "damaged gzip": ("build", "damaged.jsonl.gz", "--out", "i"),
    "target is a file": ("build", "good.jsonl", "--out", "good.jsonl"),
    "target is something else": ("build", "good.jsonl", "--out", "folder-with-file", "--force"),
    "target in a file": ("build", "good.jsonl", "--out", "good.jsonl/i"),
    "target is the root": ("build", "good.jsonl", "--out", "/", "--force"),
    "target is where we are": ("build", "good.jsonl", "--out", ".", "--force"),
    "target is above": ("build", "good.jsonl", "--out", "..", "--force"),
    "unknown kind": ("build", "good.jsonl", "--out", "i", "--kind", "solr"),
    "words 0": ("build", "good.jsonl", "--out", "i", "--words", "0"),
    "threads 0": ("build", "good.jsonl", "--out", "i", "--threads", "0"),
    "bad memory": ("build", "good.jsonl", "--out", "i", "--memory", "lots"),
    "too much memory": ("build", "good.jsonl", "--out", "i", "--memory", "99999g"),
    "no --out": ("build", "good.jsonl"),
    "absent index": ("info", "./absent"),
    "unknown name": ("info", "wikipedia-unknown"),
    "prebuilt not fetched": ("search", "x", "--index", "wikipedia-dpr-100w"),
    "empty folder": ("search", "x", "--index", "folder"),
    "half index": ("search", "x", "--index", "half"),
    "truncated index": ("search", "x", "--index", "truncated"),
    "no stored text": ("search", "x", "--index", "noraw"),
    "k 0": ("search", "x", "--index", "good", "--k", "0"),
    "k no number": ("search", "x", "--index", "good", "--k", "many"),
    "b 2": ("search", "x", "--index", "good", "--b", "2"),
    "unknown ranking": ("search", "x", "--index", "good", "--bm25", "tf"),
    "verify absent": ("verify", "absent"),
}


@pytest.fixture(scope="module")
def bad_inputs(tmp_path_factory: pytest.TempPathFactory, index_path: Path) -> Path:
    """A folder with everything that `BAD` names."""
    folder = tmp_path_factory.mktemp("bad")
    (folder / "empty.jsonl").touch()
    jsonl(folder / "good.jsonl", ROWS)
    jsonl(folder / "broken.jsonl", [*ROWS, "{"])
    jsonl(folder / "notext.jsonl", [{"id": "1", "title": "t"}])
    (folder / "latin1.jsonl").write_bytes(b'{"id": "1", "text": "caf\xe9"}\n')
    (folder / "corpus.pdf").write_bytes(b"%PDF")
    (folder / "folder").mkdir()
    (folder / "folder-with-file").mkdir()
    (folder / "folder-with-file" / "thesis.txt").touch()
    (folder / "damaged.jsonl.gz").write_bytes(b"\x1f\x8b\x08 nothing")
    for name in ("good", "half", "truncated"):
        shutil.copytree(index_path, folder / name)
    for file in (folder / "half").glob("segments_*"):
        file.unlink()
    for file in (folder / "truncated").glob("*.fdt"):
        file.write_bytes(file.read_bytes()[:50])
    built_by_anserini(folder / "other", [{"id": "1", "contents": "x"}]).rename(folder / "noraw")
    return folder


@pytest.mark.parametrize("case", BAD)
def test_what_is_wrong_is_one_clear_line(
    shell: Shell, bad_inputs: Path, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    monkeypatch.chdir(bad_inputs)
    said = shell("index", *BAD[case])
    assert is_one_clear_line(said)
    assert said.out == ""
    assert not (bad_inputs / "i").exists()
    assert not list(bad_inputs.glob(".*"))
