"""SIGKILL and torn files at random moments: in the end every question is there once, as in a run without them."""

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.cli.shell import ROOT
from tests.runs.made import work_on

COUNT = 150
KILLS = 12
STALL = 5.0  # seconds, more than a start takes
TIMES = {"counters", "steps", "search"}  # hold milliseconds


def start(folder: Path, *held: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "tests.runs.made", folder, str(COUNT), *held]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, text=True)


def length(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def wait_for(path: Path, size: int) -> None:
    """Until `path` has grown to `size` bytes, or not at all for some seconds: only the held question is left."""
    grown, at = time.monotonic(), length(path)
    while at < size and time.monotonic() - grown < STALL:
        time.sleep(0.001)
        if (now := length(path)) != at:
            grown, at = time.monotonic(), now


def tear(path: Path, rng: random.Random) -> None:
    """What a power cut may leave of the last line: its beginning, or zeros in its place."""
    data = path.read_bytes()
    last = data.rstrip(b"\n").rfind(b"\n") + 1
    if last < len(data):
        end = rng.randrange(last, len(data))
        path.write_bytes(data[:end] + b"\0" * rng.choice([0, len(data) - end]))


def outcomes(folder: Path) -> tuple[dict[str, Any], dict[str, str]]:
    """Results and errors by id, each without what may differ; asserts that none is there twice."""
    rows = [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]
    results = {row["id"]: {key: value for key, value in row.items() if key not in TIMES} for row in rows}
    assert len(results) == len(rows)
    rows = [json.loads(line) for line in (folder / "errors.jsonl").read_text().splitlines()]
    errors = {row["id"]: row["error"] for row in rows}
    assert len(errors) == len(rows)
    return results, errors


@pytest.mark.parametrize("torn", [False, True], ids=["killed", "killed and torn"])
def test_killed_at_random_moments_and_gone_on_with(torn: bool, tmp_path: Path) -> None:
    rng = random.Random(5)
    work_on(tmp_path / "calm", COUNT)
    folder = tmp_path / "run"
    results = folder / "results.jsonl"
    for _ in range(KILLS):
        process = start(folder, "held")
        if rng.random() < 0.2:
            time.sleep(rng.random() * 0.3)  # anywhere in the start
        else:
            wait_for(results, length(results) + rng.randrange(1, 8000))
        process.kill()
        assert process.wait() == -signal.SIGKILL, "it was done before it was killed"
        if torn and length(results):
            tear(rng.choice([results, folder / "errors.jsonl"]), rng)
    assert start(folder).wait() == 0
    assert outcomes(folder) == outcomes(tmp_path / "calm")
    results, errors = outcomes(folder)
    assert len(results) + len(errors) == COUNT
