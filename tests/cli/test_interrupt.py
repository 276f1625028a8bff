"""Ctrl-C, SIGTERM and SIGKILL: the process ends within two seconds, leaves no process, and no half index."""

import signal
import subprocess
import sys
import time
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest

slow = pytest.mark.slow
LIMIT = 2.0  # seconds from the signal to the end of the process
READY = "ready"

COMPUTE = "hashlib.pbkdf2_hmac, 'sha256', b'', b'', 10**9"  # minutes of C without the interpreter's lock
STUCK = {
    "in a sleep": "print('ready', flush=True); time.sleep(60)",
    "in a computation of the main thread": f"print('ready', flush=True); (lambda f, *a: f(*a))({COMPUTE})",
    "in a thread that asyncio joins": f"print('ready', flush=True); asyncio.run(asyncio.to_thread({COMPUTE}))",
    "in code that swallows the interrupt": (
        "print('ready', flush=True)\n    while True:\n        try: time.sleep(60)\n        except BaseException: pass"
    ),
    "in a write that nobody reads": "print('ready', flush=True); print('x' * 10**6, flush=True)",
}


def stuck(code: str) -> subprocess.Popen[str]:
    """A process whose command runs `code`, at the moment that it says it is ready."""
    script = (
        "import asyncio, hashlib, sys, threading, time\n"
        "from flare_local.cli import commands, main\n"
        f"def version():\n    {code}\n"
        "commands.load = lambda name: version\n"
        "sys.argv[1:] = ['version']\n"
        "main()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline().strip() == READY
    time.sleep(0.2)  # into the call that follows
    return process


# A command line that says on stderr when it first comes to `module` (its import) or `module:function` (a call of it).
AT_MOMENT = """
import functools, importlib.util, os, sys
module, _, function = sys.argv.pop(1).partition(":")
def say():
    os.write(2, b"reached\\n")
def saying(called):
    @functools.wraps(called)
    def wrapper(*arguments, **named):
        global say
        said, say = say, lambda: None
        said()
        return called(*arguments, **named)
    return wrapper
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name != module:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if not function:
            say()
            return spec
        execute = spec.loader.exec_module
        def exec_module(loaded):
            execute(loaded)
            *owners, last = function.split(".")
            owner = functools.reduce(getattr, owners, loaded)
            setattr(owner, last, saying(getattr(owner, last)))
        spec.loader.exec_module = exec_module
        return spec
sys.meta_path.insert(0, Finder())
from flare_local.cli import main
main()
"""
ASK_MOMENTS = {
    "at the start": "flare_local.cli.commands:dispatch",
    "importing torch": "torch",
    "importing transformers": "transformers",
    "starting Java": "jnius",
    "opening the index": "flare_local.retrieval.lucene:LuceneIndex.__init__",
    "loading the model": "flare_local.engine.model:load_model",
    "checking the model": "flare_local.engine.self_check:check_model",
    "searching": "flare_local.retrieval.lucene:LuceneIndex.search",
    "in a forward": "flare_local.engine.forward:PackedForward._run",
    "after a sentence": "flare_local.cli.ask:Stream.__call__",
}
BUILD_MOMENTS = {
    "starting Java": "jnius",
    "adding passages": "flare_local.retrieval.lucene_writer:LuceneWriter.add",
    "finishing": "flare_local.retrieval.lucene_writer:LuceneWriter.finish",
}


def crossed(moments: dict[str, str]) -> list[Any]:
    """Every moment with Ctrl-C; with the other signals too among the slow tests, and at the last moment always."""
    last = list(moments)[-1]
    return [
        pytest.param(
            moment, number, id=f"{name}-{number.name}", marks=[] if number == signal.SIGINT or name == last else [slow]
        )
        for name, moment in moments.items()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
    ]


def at_moment(moment: str, *words: str | Path, delay: float = 0.0) -> subprocess.Popen[str]:
    """A command line, `delay` seconds after it came to `moment`."""
    command = [sys.executable, "-c", AT_MOMENT, moment, *map(str, words)]
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stderr is not None
    for line in process.stderr:
        if line.strip() == "reached":
            break
    else:
        pytest.fail(f"{words[0]} never came to {moment}")
    time.sleep(delay)
    return process


def ends_as_it_should(process: subprocess.Popen[str], number: int) -> bool:
    """Within the limit, with the signal's exit code, without a traceback or a process left behind."""
    assert seconds_to_end(process, number) < LIMIT
    assert process.returncode == (-number if number == signal.SIGKILL else 128 + number)
    assert process.stderr is not None
    last = "" if number == signal.SIGKILL else "interrupted\n"
    assert process.stderr.read() == last
    assert members_left(process.pid) == []
    return True


def seconds_to_end(process: subprocess.Popen[str], number: int) -> float:
    start = time.monotonic()
    process.send_signal(number)
    try:
        process.wait(timeout=10)
    finally:
        if process.poll() is None:
            process.kill()
    return time.monotonic() - start


def members_left(group: int) -> list[int]:
    """The processes of a session that still run."""
    left = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == group and fields[0] != "Z":  # session id, state
            left.append(int(folder.name))
    return left


FIRST_IMPORT = """
import os, sys, time
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "flare_local.cli":
            os.write(1, b"ready\\n")
            time.sleep(60)
sys.meta_path.insert(0, Finder())
import flare_local.__main__
"""


def test_an_interrupt_of_the_first_import_shows_no_traceback() -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", FIRST_IMPORT], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline().strip() == READY
    assert seconds_to_end(process, signal.SIGINT) < LIMIT
    assert process.returncode == -signal.SIGINT
    assert process.stderr is not None
    assert process.stderr.read() == ""


def test_the_console_script_begins_there() -> None:
    [script] = entry_points(group="console_scripts", name="flare-local")
    assert script.value == "flare_local.__main__:main"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
@pytest.mark.parametrize("code", STUCK.values(), ids=STUCK)
def test_a_stuck_command_ends_in_time(code: str, number: int) -> None:
    process = stuck(code)
    assert seconds_to_end(process, number) < LIMIT
    assert process.returncode == 128 + number
    assert process.stderr is not None
    assert process.stderr.read() == "interrupted\n"
    assert members_left(process.pid) == []


def test_a_thread_left_over_at_the_end_does_not_hold_the_process() -> None:
    process = stuck("threading.Thread(target=time.sleep, args=(60,)).start(); print('ready', flush=True)")
    assert seconds_to_end(process, signal.SIGINT) < LIMIT
    assert process.returncode == -signal.SIGINT  # the command was done: the signal ends the process as it is
    assert process.stderr is not None
    assert process.stderr.read() == ""


def test_a_second_interrupt_shows_no_traceback() -> None:
    process = stuck(
        "print('ready', flush=True)\n"
        "    try: time.sleep(60)\n"
        "    finally:\n"
        "        for _ in range(40): time.sleep(0.02)"
    )
    process.send_signal(signal.SIGINT)
    time.sleep(0.1)
    assert seconds_to_end(process, signal.SIGINT) < LIMIT
    assert process.returncode == 128 + signal.SIGINT
    assert process.stderr is not None
    assert process.stderr.read() == "interrupted\n"


def test_clean_up_runs_before_the_end(tmp_path: Path) -> None:
    marker = tmp_path / "cleaned"
    process = stuck(
        f"print('ready', flush=True)\n    try: time.sleep(60)\n    finally: open({str(marker)!r}, 'w').close()"
    )
    seconds_to_end(process, signal.SIGTERM)
    assert marker.exists()


def test_what_was_written_reaches_its_reader() -> None:
    process = stuck("print('ready', flush=True); print('first sentence', end=''); time.sleep(60)")
    seconds_to_end(process, signal.SIGINT)
    assert process.stdout is not None
    assert process.stdout.read() == "first sentence"


@pytest.fixture(scope="module")
def talker(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny model without an end: it never chooses EOS or a line break."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(model)
    talker = AutoModelForCausalLM.from_pretrained(model)
    ends = [number for number in range(len(tokenizer)) if "\n" in tokenizer.decode([number])]
    with torch.no_grad():
        talker.get_output_embeddings().weight[[*ends, tokenizer.eos_token_id]] = 0
    folder = tmp_path_factory.mktemp("models") / "talker"
    talker.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.mark.parametrize(("moment", "number"), crossed(ASK_MOMENTS))
def test_ask_ends_in_time_at_any_moment(moment: str, number: int, talker: Path, index: Path) -> None:
    words = ["ask", "Who was Anna?", "--model", talker, "--index", index, "--max-new-tokens", "1900"]
    assert ends_as_it_should(at_moment(moment, *words), number)


def test_ask_ends_in_time_while_another_model_writes_questions(talker: Path, index: Path) -> None:
    words = ["ask", "Who was Anna?", "--model", talker, "--index", index, "--question-model", talker, "--theta", "1"]
    words += ["--query", "explicit", "--beta", "1", "--look-ahead", "200"]
    process = at_moment("flare_local.policies.answering:Answering.ask", *words, delay=0.1)
    assert ends_as_it_should(process, signal.SIGINT)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Large enough that building takes seconds."""
    path = tmp_path_factory.mktemp("corpora") / "corpus.jsonl"
    with path.open("w") as lines:
        for number in range(30_000):
            lines.write(f'{{"id": "{number}", "text": "Anna {number} was born in house {number * 7919} of town."}}\n')
    return path


@pytest.mark.parametrize(("moment", "number"), crossed(BUILD_MOMENTS))
def test_an_index_build_leaves_no_half_index(moment: str, number: int, corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "index"
    process = at_moment(moment, "index", "build", corpus, "--out", out, delay=0.1)
    assert ends_as_it_should(process, number)
    assert not out.exists()
    if number != signal.SIGKILL:
        assert list(tmp_path.iterdir()) == []
