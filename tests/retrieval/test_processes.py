"""Signals, forks and kills, each in a process of its own."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from flare_local.errors import JavaError
from flare_local.retrieval.build import build_index
from flare_local.retrieval.lucene import LuceneIndex
from tests.retrieval.builders import ROWS, jsonl

END = 2.0  # seconds in which a process must end after Ctrl-C

OPEN_AND_SEARCH = """
import sys
from flare_local.retrieval.lucene import LuceneIndex
with LuceneIndex.open(sys.argv[1]) as index:
    print(index.search_now(["harbour"], 1)[0][0].id, flush=True)
"""
SEARCH_FOR_EVER = """
import sys
from flare_local.retrieval.lucene import LuceneIndex
endless = " ".join(f"w{number}" for number in range(100_000)) + " harbour"
try:
    with LuceneIndex.open(sys.argv[1]) as index:
        print("searching", flush=True)
        while True:
            index.search_now([endless] * 8, 1)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""
BUILD = """
import sys
from flare_local.retrieval.build import build_index
try:
    build_index(sys.argv[1], sys.argv[2], kind=sys.argv[3], progress=lambda stage: print("building", flush=True))
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def python(code: str, *arguments: Path | str, **environment: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=os.environ | environment, timeout=60)


@contextmanager
def running(code: str, *arguments: Path | str) -> Iterator["subprocess.Popen[str]"]:
    """The process, from its first line of output on. It minds Ctrl-C, also where the tests run in the background."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    heed = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=heed
    ) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
            yield process
        finally:
            process.kill()


@pytest.fixture(scope="module")
def large_corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus that takes some seconds to index."""
    text = " ".join(f"word{number}" for number in range(60))
    rows = ({"id": str(number), "text": f"{number} {text}"} for number in range(150_000))
    return jsonl(tmp_path_factory.mktemp("large") / "corpus.jsonl", rows)


def test_a_search_prints_nothing_of_its_own(index_path: Path) -> None:
    done = python(OPEN_AND_SEARCH, index_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "harbour\n", "")


def test_folders_beyond_ascii_are_opened_in_any_locale(index_path: Path, tmp_path: Path) -> None:
    folder = tmp_path / "größe 東京 🎻"
    folder.symlink_to(index_path)
    done = python(OPEN_AND_SEARCH, folder, LC_ALL="C", PYTHONUTF8="1")
    assert (done.returncode, done.stdout) == (0, "harbour\n"), done.stderr


def test_the_environment_is_left_as_it_was(index_path: Path) -> None:
    code = "import os; before = dict(os.environ)" + OPEN_AND_SEARCH + "assert dict(os.environ) == before\n"
    assert python(code, index_path, JAVA_HOME="/old/java", LC_ALL="C").stdout == "harbour\n"


def test_ctrl_c_interrupts_a_search_at_once(index_path: Path) -> None:
    with running(SEARCH_FOR_EVER, index_path) as process:
        time.sleep(0.3)
        start = time.monotonic()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=10)
        assert time.monotonic() - start < END
    assert (process.returncode, out, err) == (0, "interrupted\n", "")


@pytest.mark.parametrize("kind", ["lucene", "bm25s"])
def test_ctrl_c_leaves_no_half_index(large_corpus: Path, tmp_path: Path, kind: str) -> None:
    with running(BUILD, large_corpus, tmp_path / "index", kind) as process:
        assert [path.name for path in tmp_path.iterdir()] == [".index.flare-building"]
        start = time.monotonic()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=10)
        assert time.monotonic() - start < END
    assert out.splitlines()[-1] == "interrupted", err
    assert list(tmp_path.iterdir()) == []


def test_a_killed_build_leaves_no_index_and_the_next_one_clears_up(large_corpus: Path, tmp_path: Path) -> None:
    with running(BUILD, large_corpus, tmp_path / "index", "lucene") as process:
        time.sleep(0.3)
        process.kill()
    assert [path.name for path in tmp_path.iterdir()] == [".index.flare-building"]
    build_index(jsonl(tmp_path / "small.jsonl", ROWS), tmp_path / "index")
    assert {path.name for path in tmp_path.iterdir()} == {"small.jsonl", "index"}


def test_a_forked_child_is_told_and_does_not_hang(index: LuceneIndex) -> None:
    index.search_now(["harbour"], 1)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:  # nothing here may return into pytest
        try:
            index.search_now(["harbour"], 1)
            told = "no error"
        except JavaError as error:
            told = str(error)
        except BaseException as error:
            told = repr(error)
        os.write(writer, told.encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        told = pipe.read()
    assert os.waitpid(child, 0)[1] == 0
    assert "before this process was forked" in told
    assert index.search_now(["harbour"], 1)[0][0].id == "harbour"


def test_a_child_forked_before_java_may_use_it(index_path: Path) -> None:
    code = (
        "import os, sys\nimport flare_local.retrieval.lucene\n"
        "if os.fork():\n    sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))\n" + OPEN_AND_SEARCH
    )
    done = python(code, index_path)
    assert (done.returncode, done.stdout) == (0, "harbour\n"), done.stderr


def test_a_java_that_cannot_start_is_one_clear_line(index_path: Path, tmp_path: Path) -> None:
    server = tmp_path / "java" / "lib" / "server"
    server.mkdir(parents=True)
    (tmp_path / "java" / "release").write_text('JAVA_VERSION="21.0.1"\n')
    (server / "libjvm.so").write_bytes(b"no library")
    code = (
        "import sys\nfrom flare_local.errors import JavaError\nfrom flare_local.retrieval.lucene import LuceneIndex\n"
        "try:\n    LuceneIndex.open(sys.argv[1])\nexcept JavaError as error:\n    print(error)\n"
    )
    done = python(code, index_path, FLARE_JAVA_HOME=str(tmp_path / "java"))
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 1
    assert "did not start" in done.stdout


def test_neither_numpy_nor_torch_nor_pyserini_is_imported(index_path: Path) -> None:
    code = OPEN_AND_SEARCH + "import json; print(json.dumps(sorted(sys.modules)))\n"
    loaded = set(json.loads(python(code, index_path).stdout.splitlines()[1]))
    assert not loaded & {"numpy", "torch", "transformers", "pyserini", "typer", "rich"}
