"""`flare-local eval` and `reproduce`, with a tiny model and a real index."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from flare_local.runs.folder import RunFolder
from tests.cli.shell import ROOT, Said, Shell, is_one_clear_line
from tests.cli.test_batch import ids, rows, told
from tests.tiny_models import CONTEXT, tiny_questions

QUESTIONS = tiny_questions(6, 51)
METHODS = ("no_retrieval", "single_time", "flare_direct")
SHORT = ["--max-new-tokens", "24", "--kv-memory", "64MiB"]
RUN = Path("run")  # in the working folder


def written(path: Path, questions: list[str], **more: Any) -> Path:
    """A dataset of these questions."""
    lines = [{"id": f"q{n}", "question": text, "answer": "the town", **more} for n, text in enumerate(questions)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return written(tmp_path / "questions.jsonl", QUESTIONS, supporting_ids=["3", "4"])


@pytest.fixture
def words(model: Path, index: Path, data: Path) -> list[str]:
    """A command line that evaluates three methods into the folder `run`."""
    methods = [word for method in METHODS for word in ("--method", method)]
    named = ["--data", str(data), "--model", str(model), "--index", str(index)]
    return ["eval", "--task", "open", "--out", "run", *methods, *named, *SHORT]


def scores(folder: Path = RUN) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "scores.json").read_text())
    return found


def test_every_row_is_answered_judged_and_compared(shell: Shell, words: list[str], data: Path) -> None:
    said = shell(*words)
    assert said.code == 0, said.err
    assert all(method in said.out for method in METHODS)
    assert said.out.splitlines()[-1] == "run/scores.json"
    head = json.loads((RUN / "eval.json").read_text())
    assert (head["task"], head["ids"], head["reference"]) == ("open", [f"q{n}" for n in range(6)], "flare_direct")
    assert [row["name"] for row in head["rows"]] == list(METHODS)
    assert [row["id"] for row in rows(RUN, "items.jsonl")] == head["ids"]
    found = scores()
    assert list(found["rows"]) == list(METHODS)
    column = found["rows"]["flare_direct"]["columns"]["contains"]
    assert (column["questions"], column["why"]) == (6, "")
    assert column["low"] <= column["value"] <= column["high"]
    assert found["rows"]["no_retrieval"]["columns"]["support"]["why"]
    assert set(found["differences"]) == {"no_retrieval", "single_time"}
    assert found["differences"]["single_time"]["contains"]["questions"] == 6
    assert len(rows(RUN, "values.jsonl")) == 18


def test_a_row_has_the_answers_of_batch(shell: Shell, words: list[str], data: Path) -> None:
    shell(*words)
    asked = ["--preset", "open", "--method", "flare_direct", *words[words.index("--model") :]]
    assert shell("batch", data, "--out", "alone", *asked).code == 0
    assert told(RUN / "flare_direct") == told(Path("alone"))
    settings = [json.loads((run / "run.json").read_text())["settings"] for run in (RUN / "flare_direct", Path("alone"))]
    assert settings[0] == settings[1]


def test_it_goes_on_with_more_questions_and_then_needs_no_model(shell: Shell, words: list[str]) -> None:
    assert shell(*words, "--limit", "2").code == 0
    assert len(scores()["rows"]["flare_direct"]["columns"]["contains"]["name"]) > 0
    assert ids(RUN / "flare_direct") == ["q0", "q1"]
    assert shell(*words).code == 0
    sessions = rows(RUN / "flare_direct", "sessions.jsonl")
    assert [session["answered"] for session in sessions] == [2, 4]
    words[words.index("--model") + 1] = "no/such-model"
    said = shell(*words, "--limit", "3", "--seed", "5")
    assert said.code == 0, said.err
    assert scores()["questions"] == 3
    assert len(rows(RUN, "values.jsonl")) == 9


def test_other_settings_another_model_and_another_task_are_refused(shell: Shell, words: list[str]) -> None:
    assert shell(*words, "--limit", "1").code == 0
    said = shell(*words, "--theta", "0.6")
    assert is_one_clear_line(said, code=1)
    assert "theta was 0.8 and is 0.6" in said.err
    assert "model_fingerprint was" in shell(*words, "--dtype", "float64").err
    words[words.index("open")] = "2wiki"
    assert "evaluates open, not 2wiki" in shell(*words).err
    words[words.index("2wiki")] = "open"
    assert shell(*words, "--theta", "0.6", "--limit", "1", "--force-new").code == 0
    assert ids(RUN / "flare_direct" / "replaced-1") == ["q0"]


def test_a_question_without_an_answer_counts_as_wrong(shell: Shell, words: list[str], data: Path) -> None:
    written(data, [QUESTIONS[0], "town " * CONTEXT])
    said = shell(*words)
    assert said.code == 1
    assert "Questions failed and count as wrong: 1 of no_retrieval" in said.err
    row = scores()["rows"]["flare_direct"]
    assert (row["answered"], row["failed"]) == (1, 1)
    assert row["columns"]["contains"]["questions"] == 2
    assert row["columns"]["calls"]["questions"] == 1
    assert [line["answered"] for line in rows(RUN, "values.jsonl")] == [True, False] * 3


def test_a_dry_run_counts_and_keeps_nothing(shell: Shell, words: list[str]) -> None:
    said = shell(*words, "--dry-run")
    assert said.code == 0, said.err
    assert "6 questions left, about " in said.out
    assert said.out.splitlines()[-1].startswith("Together about ")
    assert not RUN.exists()


def test_a_dry_run_of_what_has_begun_needs_no_model(shell: Shell, words: list[str]) -> None:
    assert shell(*words, "--limit", "4").code == 0
    words[words.index("--model") + 1] = "no/such-model"
    said = shell(*words, "--dry-run")
    assert said.code == 0, said.err
    assert said.out.count("2 questions left, about ") == 3


@pytest.mark.parametrize(
    ("extra", "text"),
    [
        (["--method", "flare"], "no method 'flare'"),
        (["--method", "no_retrieval"], "twice"),
        (["--limit", "0"], "--limit is 0"),
    ],
)
def test_wrong_words_are_one_clear_line(shell: Shell, words: list[str], extra: list[str], text: str) -> None:
    said = shell(*words, *extra)
    assert is_one_clear_line(said, code=2)
    assert text in said.err


def test_a_folder_of_other_things_and_one_at_work_are_refused(shell: Shell, words: list[str]) -> None:
    RUN.mkdir()
    (RUN / "thesis.tex").write_text("")
    assert "holds other things than an evaluation (thesis.tex)" in shell(*words).err
    (RUN / "thesis.tex").unlink()
    with RunFolder(RUN / "flare_direct"):
        (RUN / "eval.json").write_text('{"task": "open"}')
        assert "is working on run/flare_direct" in shell(*words).err


def command(words: list[str]) -> list[str]:
    return [sys.executable, "-m", "flare_local", *words]


def test_killed_at_random_moments_it_ends_as_an_undisturbed_run(shell: Shell, words: list[str]) -> None:
    assert shell(*words, "--out", "calm").code == 0
    rng = random.Random(3)
    for _ in range(3):
        process = subprocess.Popen(command(words), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        target = sum(1 for _ in RUN.glob("*/results.jsonl")) + rng.randrange(2)
        limit = time.monotonic() + 60
        while process.poll() is None and time.monotonic() < limit:
            if len(list(RUN.glob("*/results.jsonl"))) > target:
                break
            time.sleep(0.01)
        time.sleep(rng.random() * 0.1)
        process.send_signal(signal.SIGKILL)
        process.wait()
    said = shell(*words)
    assert said.code == 0, said.err
    for method in METHODS:
        assert told(RUN / method) == told(Path("calm") / method)
        assert ids(RUN / method) == [f"q{n}" for n in range(6)]
    assert figures(scores()) == figures(scores(Path("calm")))


def figures(found: dict[str, Any]) -> dict[str, Any]:
    """All figures but seconds."""
    return {
        name: {key: column["value"] for key, column in row["columns"].items() if key != "seconds"}
        for name, row in found["rows"].items()
    }


def test_two_processes_have_the_results_of_one(shell: Shell, words: list[str]) -> None:
    assert shell(*words, "--out", "one").code == 0
    launch = [sys.executable, "-m", "accelerate.commands.launch", "--multi_gpu", "--num_processes", "2"]
    launch += ["--num_machines", "1", "--mixed_precision", "no", "--dynamo_backend", "no", "--main_process_port", "0"]
    environment = os.environ | {"ACCELERATE_USE_CPU": "1", "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [*launch, "-m", "flare_local", *words], capture_output=True, text=True, env=environment, timeout=240
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "run/scores.json"
    for method in METHODS:
        assert told(RUN / method) == told(Path("one") / method)
        assert [session["answered"] for session in rows(RUN / method, "sessions.jsonl")] == [3, 3]
        assert not list((RUN / method).glob("shard-*"))
    assert figures(scores()) == figures(scores(Path("one")))


def test_what_another_rank_left_is_taken_in(shell: Shell, words: list[str]) -> None:
    assert shell(*words, "--out", "one").code == 0
    assert shell(*words, "--limit", "2").code == 0
    for method in METHODS:  # as if the second process had been killed after its work
        os.rename(Path("one") / method, RUN / method / "shard-1")
        kept = [
            line for line in (RUN / method / "shard-1" / "results.jsonl").read_text().splitlines() if '"q5"' in line
        ]
        (RUN / method / "shard-1" / "results.jsonl").write_text("\n".join(kept) + "\n")
    assert shell(*words).code == 0
    assert [row["id"] for row in rows(RUN / "flare_direct")].count("q5") == 1
    assert ids(RUN / "flare_direct") == [f"q{n}" for n in range(6)]
    assert [session["answered"] for session in rows(RUN / "flare_direct", "sessions.jsonl")] == [2, 6, 3]


@pytest.fixture
def reproduce(shell: Shell, model: Path, index: Path, data: Path) -> Any:
    """`reproduce` into the folder `tables`, two questions a task."""

    def run(*words: str) -> Said:
        named = ["--model", str(model), "--index", str(index), "--kv-memory", "64MiB", "--limit", "2"]
        return shell("reproduce", *words, "--data", f"2wiki={data}", "--out", "tables", *named)

    return run


def test_a_table_stands_beside_the_papers_and_says_what_is_missing(reproduce: Any) -> None:
    said = reproduce("table3", "table5")
    assert said.code == 0, said.err
    page = Path("tables/table3.md").read_text()
    assert "| Next | " in page
    assert "| 48.8 |" in page  # the paper's
    assert "Not measured: no data was given (--data asqa-hint=FILE)." in page
    lines = Path("tables/table5.csv").read_text().splitlines()
    assert lines[0].startswith("table,row,settings,task,measure,questions,value")
    assert any(line.startswith("table5,beta 0.2,beta=0.2,2wiki,em,2,") and ",49.8," in line for line in lines)
    assert Path("tables/table5.png").read_bytes().startswith(b"\x89PNG")
    assert sorted(path.name for path in Path("tables/2wiki").iterdir() if path.is_dir()) == [
        "flare_direct",
        "flare_direct.beta-0",
        "flare_direct.beta-0.2",
        "flare_direct.beta-0.6",
        "next_sentence",
        "previous_sentence",
    ]
    before = (Path("tables/2wiki/flare_direct") / "results.jsonl").read_bytes()
    said = reproduce("figure5")
    assert said.code == 0, said.err
    assert (Path("tables/2wiki/flare_direct") / "results.jsonl").read_bytes() == before  # answered once
    assert "theta 0.8" in Path("tables/figure5.md").read_text()
    assert "FLARE_THETA" not in said.err


def test_reproduce_says_what_it_takes(reproduce: Any) -> None:
    said = reproduce("table3", "table1", "--dry-run")
    assert said.code == 0, said.err
    assert said.out.count("Previous") == 2  # sentence, shared by both tables, and window
    assert not Path("tables").exists()


def test_reproduce_refuses_unknown_tables_and_tasks(reproduce: Any, shell: Shell) -> None:
    assert is_one_clear_line(reproduce("table7"), code=2)
    assert is_one_clear_line(reproduce("table2"), code=2)  # no data of any of its tasks
    assert "No --data of any task" in reproduce("table2").err
    assert is_one_clear_line(reproduce("table1", "--data", "hotpot=x"), code=2)
