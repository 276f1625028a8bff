"""The benchmarks run from end to end on a tiny model and a small index."""

import asyncio
import importlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks.ablation import verdict
from benchmarks.hugging_face import Plain, plain_model
from benchmarks.kept_cache import KeptCache
from benchmarks.peer_rows import ROWS
from benchmarks.plot import Bars, Curves, draw
from benchmarks.table import each_further, exponent, percentile
from flare_local.engine.call import Call
from flare_local.engine.model import load_model
from flare_local.policies.methods import METHODS
from flare_local.retrieval.build import build_index
from tests.engine.tiny import save_tiny
from tests.tiny_models import tiny_questions, tiny_text

ROOT = Path(__file__).parents[1]
Here = Callable[..., tuple[str, list[dict[str, Any]]]]  # what a benchmark printed, and the lines it wrote


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


def run_here(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], module: str, *arguments: str
) -> tuple[str, list[dict[str, Any]]]:
    """What a benchmark printed, and the lines that it wrote into the folder that follows --out, its last argument."""
    monkeypatch.setattr(sys, "argv", [module, *arguments])
    importlib.import_module(f"benchmarks.{module}").main()
    (file,) = [file for file in Path(arguments[-1]).glob("*.jsonl") if not file.name.startswith("made-up")]
    return capsys.readouterr().out, [json.loads(line) for line in file.read_text().splitlines()]


@pytest.fixture
def here(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: list[str], tmp_path: Path
) -> Here:
    """Runs a benchmark of the engine in this process."""

    def run_it(module: str, *named: str) -> tuple[str, list[dict[str, Any]]]:
        return run_here(monkeypatch, capsys, module, *arguments, *named, "--quick", "--out", str(tmp_path / "out"))

    return run_it


def test_every_peer_writes_the_sentences_of_the_engine(here: Here) -> None:
    printed, rows = here("peers", "--decode-tokens", "4", "--max-new-tokens", "32", "--distance-calls", "2")
    told = {row["summary"]["row"]: row["summary"] for row in rows if "summary" in row}
    assert list(told) == [name for name in ROWS.values() if not name.startswith("vLLM")]
    for summary in told.values():
        assert summary["answers"] == 2
        assert summary["same"] == summary["sentences"] > 2
        assert summary["calls"] == told["ours"]["calls"]
    assert told["kept DynamicCache"]["forwards"] < told["generate afresh"]["forwards"]
    assert told["prompt lookup"]["forwards"] <= told["generate afresh"]["forwards"]
    assert printed.count("not run: no --vllm-python") == 4
    assert "mean distance from fp32" in printed


def test_what_is_said_to_vllm_and_heard_is_a_whole_answer(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "tests" / "fake_vllm"))
    named = ["--rows", "vllm", "vllm_stopped", "--decode-tokens", "4", "--max-new-tokens", "32", "--repeat", "2"]
    _, rows = here("peers", *named, "--vllm-python", sys.executable)
    told = {row["summary"]["row"]: row["summary"] for row in rows if "summary" in row}
    assert [summary["answers"] for summary in told.values()] == [4, 4, 4]
    assert all(summary["same"] == summary["sentences"] > 4 for summary in told.values())
    assert told["vLLM, stopped"]["forwards"] < told["vLLM, 64 tokens"]["forwards"]


def test_a_vllm_that_does_not_start_is_told(here: Here, tmp_path: Path) -> None:
    named = ["--rows", "vllm", "--decode-tokens", "4", "--max-new-tokens", "8", "--vllm-python"]
    _, rows = here("peers", *named, str(tmp_path / "python"))
    assert [row["row"] for row in rows if "absent" in row] == ["vLLM, 64 tokens"]
    printed, _ = here("peers", *named, sys.executable)
    assert "vLLM, 64 tokens: not run: vLLM did not start: ModuleNotFoundError" in printed


def test_kept_caches_hold_drafts_and_sentences_apart(arguments: list[str]) -> None:
    model = load_model(arguments[1])
    peer = KeptCache("kept", Plain(plain_model(arguments[1], "float32"), model))
    shared, documents, question = (tuple(range(begin, begin + 20)) for begin in (5, 30, 60))

    def reused(*parts: tuple[int, ...]) -> int:
        call = Call(sum(parts, ()), max_new_tokens=4)
        return asyncio.run(peer.generate(call)).counters.reused

    assert reused(shared, question) == 0
    assert reused(shared, documents, question) == 20  # copied: the draft's own tokens stay
    assert reused(shared, question, (90, 91)) >= 40
    assert reused(shared, documents, question, (90, 91)) >= 60
    assert reused(shared, documents, question, (90, 91)) == 61  # the last token is always run


def test_the_stages_of_cold_and_warm_answers_add_up(here: Here) -> None:
    printed, rows = here("latency")
    assert printed.count("same answer") == 2
    for row in rows:
        stages = sum(row[f"{stage}_ms"] for stage in ("prefill", "decode", "verify", "search", "other"))
        assert stages / 1000 == pytest.approx(row["seconds"], rel=0.2)
    assert all(row["reused"] for row in rows if row["kind"] == "warm")


def test_answers_are_the_same_at_every_concurrency(here: Here) -> None:
    printed, rows = here("throughput", "--concurrency", "1", "2")
    assert printed.count("2 of 2") == 2
    assert [row["concurrency"] for row in rows] == [1, 2]


def test_every_device_off_changes_costs_and_no_answer(here: Here) -> None:
    printed, rows = here("ablation", "--search-ms", "20", "--dtype", "float64")
    assert printed.count("2 of 2") == 9
    runs = {row["arm"]: row["run"] for row in rows if row["question"] == rows[0]["question"]}
    assert len(runs) == 11
    assert runs["no reuse of K and V"] > 2 * runs["everything on"]
    assert runs["no early stop"] > runs["everything on"]
    assert "with --search-ahead" in printed


def test_growth_is_shown_for_everything_that_grows(here: Here) -> None:
    _, rows = here("ablation", "--growth")
    sizes = {row["size"]: [size for size, _ in row["points"]] for row in rows}
    assert sizes == {
        "sentences": [1, 2, 3, 4],
        "documents": [1, 2, 4],
        "exemplars": [1, 2, 4],
        "questions at once": [1, 2],
    }


def test_both_indexes_are_measured_with_the_same_queries(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    named = ["--passages", "300", "--queries", "40", "--batch", "8"]
    printed, rows = run_here(monkeypatch, capsys, "retrieval", *named, "--out", str(tmp_path))
    assert [row["kind"] for row in rows] == ["lucene", "bm25s"]
    assert all(len(row["query_ms"]) == len(row["found"]) == 40 and len(row["batch_ms"]) == 5 for row in rows)
    shared = re.search(r"top 10: ([\d.]+)% shared", printed)
    assert shared is not None
    assert float(shared[1]) > 50


def test_growth_that_a_fixed_cost_hides_is_told() -> None:
    squares = [(float(size), 100.0 + size**2) for size in (1, 2, 4, 8)]
    assert exponent(squares) < 1
    first, last = each_further(squares)
    assert last > 2 * first
    assert exponent([(size, cost - 100) for size, cost in squares]) == pytest.approx(2)


def test_a_difference_counts_only_where_chance_does_not_explain_it() -> None:
    assert [verdict(sooner, 8) for sooner in (8, 7, 6, 2, 1)] == [
        "it pays here",
        "it pays here",
        "too few or too close to tell",
        "too few or too close to tell",
        "it does not pay here",
    ]
    assert verdict(2, 2) == "too few or too close to tell"


def test_a_percentile_is_a_value_that_was_measured() -> None:
    assert [percentile([4.0, 1.0, 3.0, 2.0], share) for share in (0.25, 0.5, 0.95)] == [1.0, 2.0, 4.0]


def test_without_matplotlib_a_benchmark_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    bars = Bars("gain", "times", {"reuse": {"": 2.0}}, 1.0)
    draw(tmp_path / "plot.png", "a machine", bars, Curves("growth", "size", "s", {"": [(1, 1), (2, 3)]}, doubling=True))
    assert (tmp_path / "plot.png").stat().st_size > 5000
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    draw(tmp_path / "other.png", "a machine", bars)
    assert "matplotlib is not installed" in capsys.readouterr().out
    assert not (tmp_path / "other.png").exists()
