"""The benchmarks run from end to end on a tiny model and a small index."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from flare_local.policies.methods import METHODS
from flare_local.retrieval.build import build_index
from tests.engine.tiny import save_tiny
from tests.tiny_models import tiny_questions, tiny_text

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def arguments(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("benchmarks")
    save_tiny(folder / "model")
    rows = [json.dumps({"id": str(i), "title": "", "text": text}) for i, text in enumerate(tiny_text(1, 40))]
    (folder / "corpus.jsonl").write_text("\n".join(rows), encoding="utf-8")
    build_index(folder / "corpus.jsonl", folder / "index")
    questions = [json.dumps({"question": question}) for question in tiny_questions(2)]
    (folder / "questions.jsonl").write_text("\n".join(questions), encoding="utf-8")
    exemplar = {"question": "Who was Anna Borg?", "answer": "Anna Borg was a painter.", "documents": ["Anna Borg."]}
    (folder / "exemplars.jsonl").write_text(json.dumps(exemplar), encoding="utf-8")
    named = ["--model", "model", "--index", "index", "--questions", "questions.jsonl", "--exemplars", "exemplars.jsonl"]
    paths = [part if part.startswith("--") else str(folder / part) for part in named]
    return [*paths, "--limit", "2", "--max-new-tokens", "48", "--out", str(folder / "out.jsonl")]


def run(module: str, *arguments: str) -> str:
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", f"benchmarks.{module}", *arguments]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_answers_of_every_method_and_schedule_are_certified(arguments: list[str]) -> None:
    printed = run("certify", *arguments, "--dtype", "float64", "--max-new-tokens", "24", "--limit", "1")
    for name in (*METHODS, "flare_direct:explicit"):
        assert f"{name}, paper: " in printed
        assert f"{name}, released: " in printed
    assert printed.count(" 0 near ties") == 2 * (len(METHODS) + 1)


def test_the_questions_of_another_model_are_certified(arguments: list[str], tmp_path: Path) -> None:
    save_tiny(tmp_path / "other", arch="qwen2")
    named = ["--method", "flare_direct:explicit", "--schedule", "paper", "--question-model", str(tmp_path / "other")]
    printed = run("certify", *arguments, "--dtype", "float64", *named)
    assert "flare_direct:explicit, paper: " in printed
    assert json.loads(Path(arguments[-1]).read_text().splitlines()[-1])["questions_run"] > 0


def test_the_engine_is_compared_with_generate_in_turn(arguments: list[str]) -> None:
    printed = run("afresh", *arguments, "--dtype", "float32")
    assert "the same answer for 2 of 2 questions" in printed
    assert printed.count(" times; ") == 2
