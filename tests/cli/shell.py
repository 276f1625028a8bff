"""Runs command lines: in this process where that will do, as a process of its own where signals or imports matter."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from flare_local.cli import run

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Said:
    """What a command line said."""

    code: int
    out: str
    err: str


class Shell:
    """In-process command lines; outputs are captured by pytest."""

    def __init__(self, capture: pytest.CaptureFixture[str]) -> None:
        self._capture = capture

    def __call__(self, *words: str | Path) -> Said:
        self._capture.readouterr()
        code = run([str(word) for word in words])
        captured = self._capture.readouterr()
        return Said(code, captured.out, captured.err)


def process(*words: str | Path, **environment: str) -> Said:
    """A command line as a process of its own, with `environment` added to ours."""
    done = subprocess.run(
        [sys.executable, "-m", "flare_local", *map(str, words)],
        capture_output=True,
        text=True,
        env=os.environ | environment,
        timeout=120,
    )
    return Said(done.returncode, done.stdout, done.stderr)


def is_one_clear_line(said: Said, *, code: int | None = None) -> bool:
    """Whether a failure was told as users should see it: one line on stderr, no traceback, exit code not 0."""
    assert said.code != 0, f"exit code 0, out: {said.out}"
    assert code is None or said.code == code, f"exit code {said.code}: {said.err}"
    assert said.code != 70, f"told as a bug: {said.err}"
    lines = said.err.splitlines()
    assert len(lines) == 1, f"{len(lines)} lines: {said.err}"
    assert lines[0].startswith("error: "), said.err
    assert "Traceback" not in said.err + said.out
    return True
