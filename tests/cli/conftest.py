"""Fixtures of the command line's tests."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.shell import Shell


@pytest.fixture(scope="session", autouse=True)
def caches(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Folders of their own for the program's cache, the hub's and Pyserini's; no network."""
    folder = tmp_path_factory.mktemp("caches")
    patch = pytest.MonkeyPatch()
    patch.setenv("FLARE_CACHE", str(folder / "flare"))
    patch.setenv("HF_HOME", str(folder / "hub"))
    patch.setenv("HF_HUB_OFFLINE", "1")
    patch.setenv("PYSERINI_CACHE", str(folder / "pyserini"))
    yield folder
    patch.undo()


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """Command lines in an empty working folder, without FLARE_ variables of the machine."""
    for variable in [name for name in os.environ if name.startswith("FLARE_") and name != "FLARE_CACHE"]:
        monkeypatch.delenv(variable)
    folder = tmp_path / "working"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return Shell(capsys)


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny Llama with its tokenizer, as `save_pretrained` leaves it."""
    import torch

    from tests.tiny_models import tiny_model, tiny_tokenizer

    folder = tmp_path_factory.mktemp("models") / "tiny"
    tiny_model("llama", dtype=torch.float32).save_pretrained(folder)
    tiny_tokenizer().save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Lucene index of 40 passages."""
    from flare_local.retrieval.build import build_index
    from tests.tiny_models import tiny_text

    folder = tmp_path_factory.mktemp("indexes")
    corpus = folder / "corpus.tsv"
    rows = [f"{number}\t{text}\ttitle {number}\n" for number, text in enumerate(tiny_text(sentences=40))]
    corpus.write_text("id\ttext\ttitle\n" + "".join(rows).replace('"', ""), encoding="utf-8")
    build_index(corpus, folder / "index")
    return folder / "index"
