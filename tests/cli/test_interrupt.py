"""Ctrl-C, SIGTERM and SIGKILL: the process ends within two seconds, leaves no process, and no half index."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

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
