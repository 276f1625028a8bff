"""`flare-local batch`, with a tiny model and a real index."""

import io
import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.cli.shell import Said, Shell, is_one_clear_line
from tests.cli.test_interrupt import LIMIT, seconds_to_end
from tests.tiny_models import CONTEXT, tiny_questions

QUESTIONS = tiny_questions(8, 51)
SHORT = ["--max-new-tokens", "24", "--kv-memory", "64MiB"]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "questions.txt"
    path.write_text("\n".join(QUESTIONS) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def batch(shell: Shell, model: Path, index: Path, file: Path) -> Any:
    """`batch` with the tiny model and index into the folder `run`."""

    def run(*words: str | Path, questions: str | Path | None = file) -> Said:
        named = [] if questions is None else [questions]
        return shell("batch", *named, "--out", "run", "--model", model, "--index", index, *SHORT, *words)

    return run


def rows(run: Path, name: str = "results.jsonl") -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / name).read_text().splitlines()]


def told(run: Path) -> dict[str, Any]:
    """Every answer by id, without what differs from run to run: times, and the counts of what was reused."""
    return {
        row["id"]: (
            row["question"],
            row["answer"],
            row["stop_reason"],
            row["search"] and [document["id"] for document in row["search"]["documents"]],
            [(step["queries"], step["triggered"], step["sentence"]["ids"]) for step in row["steps"]],
        )
        for row in rows(run)
    }


def ids(run: Path) -> list[str]:
    return sorted(row["id"] for row in rows(run))


RUN = Path("run")  # in the working folder


def test_every_question_gets_the_answer_that_ask_gives(batch: Any, shell: Shell, model: Path, index: Path) -> None:
    said = batch("--concurrency", "3")
    assert said.code == 0, said.err
    assert said.out.splitlines()[-1] == "run/results.jsonl"
    assert "8 answered, 0 failed" in said.out
    assert "slots" in said.out
    assert ids(RUN) == [f"line-{number}" for number in range(1, 9)]
    asked = json.loads(shell("ask", QUESTIONS[4], "--model", model, "--index", index, *SHORT, "--json").out)
    (row,) = [row for row in rows(RUN) if row["id"] == "line-5"]
    assert (row["question"], row["answer"]) == (QUESTIONS[4], asked["answer"])
    assert asked.keys() - row.keys() == {"config", "versions"}


def test_in_a_pipe_progress_is_plain_lines(batch: Any) -> None:
    said = batch()
    assert "\x1b" not in said.out + said.err
    assert said.err.splitlines()[-1].startswith("8 of 8 questions, ")


def test_it_goes_on_where_it_was_and_then_has_nothing_left(batch: Any, model: Path) -> None:
    assert "3 answered" in batch("--limit", "3").out
    assert (
        "5 answered" in batch("--concurrency", "2", "--kv-memory", "32MiB", "--search-ahead").out
    )  # none changes an answer
    (session,) = rows(RUN, "sessions.jsonl")[1:]
    assert (session["concurrency"], session["answered"], session["failed"]) == (2, 5, 0)
    assert 0 < session["pool"]["in_use"] <= session["pool"]["separate"]
    assert batch().out.startswith("Nothing is left to do.")
    assert batch(questions=None).code == 0  # the run knows its questions
    assert len(ids(RUN)) == 8


def test_order_and_concurrency_change_no_answer(batch: Any, tmp_path: Path) -> None:
    batch("--concurrency", "1")
    calm = told(RUN)
    RUN.rename(tmp_path / "calm")
    batch("--shuffle", "--concurrency", "8")
    assert told(RUN) == calm
    assert [row["id"] for row in rows(RUN)] != [row["id"] for row in rows(tmp_path / "calm")]


def test_questions_from_standard_input_and_from_tsv(batch: Any, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b'{"id": "a/../b", "question": "Who was Anna?"}\n')))
    assert batch(questions="-").code == 0
    assert ids(RUN) == ["a/../b"]
    tsv = file.with_suffix(".tsv")
    tsv.write_text("7\tWho was Anna?\n8\tWhen was Borg born?\n")
    assert batch("--out", "other", questions=tsv).code == 0
    assert ids(Path("other")) == ["7", "8"]
    assert sorted(path.name for path in Path().iterdir()) == ["other", "run"]


def test_a_change_is_refused_with_what_changed_before_the_model_is_loaded(batch: Any, file: Path) -> None:
    batch("--limit", "1")
    said = batch("--theta", "0.6", "--model", "no/such-model")
    assert is_one_clear_line(said, code=1)
    assert "theta was 0.8 and is 0.6" in said.err
    assert "--force-new" in said.err
    file.write_text(file.read_text() + "Who else?\n")
    assert "1 question not there before (line-9)" in batch().err


def test_another_model_or_index_is_refused(batch: Any, model: Path, index: Path, tmp_path: Path) -> None:
    from flare_local.retrieval.build import build_index

    batch("--limit", "1")
    said = batch("--dtype", "float64")
    assert is_one_clear_line(Said(said.code, said.out, said.err.splitlines()[-1]), code=1)
    assert "model_fingerprint was" in said.err
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text('{"id": "1", "text": "Anna was born."}\n')
    build_index(corpus, tmp_path / "index", kind="bm25s")
    assert "index_hash was" in batch("--index", tmp_path / "index").err
    assert "exemplars_sha256 was" in batch("--instruction", "Answer.").err


def test_force_new_puts_the_old_run_aside(batch: Any) -> None:
    batch("--limit", "2")
    assert batch("--theta", "0.6", "--force-new", "--limit", "1").code == 0
    assert ids(RUN) == ["line-1"]
    assert ids(RUN / "replaced-1") == ["line-1", "line-2"]


def test_a_failed_question_is_recorded_named_and_tried_again_on_demand(batch: Any, file: Path) -> None:
    file.write_text(f"{QUESTIONS[0]}\n{'town ' * CONTEXT}\n{QUESTIONS[1]}\n")
    said = batch()
    assert said.code == 1
    assert any(line.startswith("line-2 failed: ") for line in said.err.splitlines())
    assert said.err.splitlines()[-1].startswith("error: 1 of 3 questions failed; run/errors.jsonl says why.")
    assert ids(RUN) == ["line-1", "line-3"]
    assert [(row["id"], row["kind"]) for row in rows(RUN, "errors.jsonl")] == [("line-2", "PromptTooLong")]
    assert batch().code == 1
    assert len(rows(RUN, "errors.jsonl")) == 1
    batch("--retry-failed")
    assert len(rows(RUN, "errors.jsonl")) == 2
    assert "Stopped at 1 failed" in batch("--retry-failed", "--max-errors", "1").err


def test_calls_are_enough_to_prove_an_answer(batch: Any) -> None:
    batch("--limit", "1", "--calls")
    assert all(call["prompt"] for call in rows(RUN)[0]["calls"])


WRONG = {
    "no question file": (["absent.txt"], "absent.txt does not exist"),
    "no run yet": ([], "holds no run yet"),
    "concurrency 0": (["q.txt", "--concurrency", "0"], "--concurrency is 0"),
    "limit 0": (["q.txt", "--limit", "0"], "--limit is 0"),
    "max-errors 0": (["q.txt", "--max-errors", "0"], "--max-errors is 0"),
    "concurrency as a word": (["q.txt", "--concurrency", "all"], "concurrency"),
    "unknown format": (["q.txt", "--format", "csv"], "--format is 'csv'"),
    "wrong format": (["q.txt", "--format", "jsonl"], "q.txt:1: not JSON"),
    "no such model": (["q.txt", "--model", "./absent"], "absent"),
    "no such index": (["q.txt", "--index", "./absent"], "absent"),
}


@pytest.mark.parametrize(("words", "said"), WRONG.values(), ids=WRONG)
def test_bad_input_is_one_clear_line_and_leaves_no_folder(
    words: list[str], said: str, shell: Shell, model: Path, index: Path
) -> None:
    Path("q.txt").write_text("Who was Anna?\n")
    answer = shell("batch", *words[:1], "--out", "run", "--model", model, "--index", index, *words[1:])
    assert is_one_clear_line(answer)
    assert said in answer.err
    assert not RUN.exists()


def test_out_is_needed(shell: Shell) -> None:
    assert "--out" in shell("batch", "q.txt").err


# -- as a process of its own ----------------------------------------------------------------------------------------


def start(run: Path, file: Path, model: Path, index: Path, *words: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "flare_local", "batch", file, "--out", run, "--model", model, "--index", index]
    return subprocess.Popen(
        [*map(str, command), "--concurrency", "3", *SHORT, *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def length(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def wait_for(process: "subprocess.Popen[str]", path: Path, size: int) -> None:
    """Until `path` is larger than `size`, or the process is done."""
    while process.poll() is None and length(path) <= size:
        time.sleep(0.002)


@pytest.fixture
def many(tmp_path: Path) -> Path:
    """A file of questions that keeps the tiny model busy for some seconds."""
    path = tmp_path / "many.tsv"
    path.write_text("".join(f"q{number}\t{text}\n" for number, text in enumerate(tiny_questions(120, 52))))
    return path


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_an_interrupt_keeps_what_is_complete_and_says_how_to_go_on(
    number: int, tmp_path: Path, many: Path, model: Path, index: Path
) -> None:
    run = tmp_path / "run"
    process = start(run, many, model, index)
    wait_for(process, run / "results.jsonl", 0)
    assert seconds_to_end(process, number) < LIMIT
    assert process.stderr is not None
    said = process.stderr.read()
    assert process.returncode == 128 + number
    hint, last = said.splitlines()[-2:]
    assert last == "interrupted"
    done = rows(run)
    assert hint == (
        f"{len(done)} of 120 questions were done now and are on the disk. The same command goes on with the rest."
    )
    assert len({row["id"] for row in done}) == len(done) > 0


def test_a_second_process_on_a_run_is_refused(
    tmp_path: Path, many: Path, model: Path, index: Path, shell: Shell
) -> None:
    run = tmp_path / "run"
    process = start(run, many, model, index)
    wait_for(process, run / "results.jsonl", 0)
    said = shell("batch", "--out", run, "--model", model, "--index", index, *SHORT)
    process.kill()
    process.wait()
    assert is_one_clear_line(said, code=1)
    assert f"Another process (id {process.pid})" in said.err


def test_a_full_disk_is_one_clear_line_and_loses_nothing(tmp_path: Path, many: Path, model: Path) -> None:
    full = (
        "import resource; from flare_local.cli import main\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (30000, 30000)); main()"  # bytes
    )
    words = ["batch", many, "--out", tmp_path / "run", "--model", model, "--method", "no_retrieval", *SHORT]
    done = subprocess.run([sys.executable, "-c", full, *map(str, words)], capture_output=True, text=True)
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith(
        f"error: The disk is full: {tmp_path / 'run' / 'results.jsonl'} cannot grow; what it holds is"
    )
    assert "run the same command again" in last
    assert len(rows(tmp_path / "run")) > 2


def test_a_folder_that_cannot_be_written_is_one_clear_line(batch: Any) -> None:
    said = batch("--out", "/proc/run")
    assert is_one_clear_line(said, code=1)
    assert "/proc/run cannot be written" in said.err


@pytest.mark.parametrize("kills", [1, pytest.param(12, marks=pytest.mark.slow)])
def test_killed_at_random_moments_it_ends_as_if_it_was_not(
    kills: int, tmp_path: Path, file: Path, model: Path, index: Path
) -> None:
    rng = random.Random(kills)
    file.write_text("\n".join(tiny_questions(6 * kills, 53)))
    calm = start(tmp_path / "calm", file, model, index)
    assert calm.wait() == 0
    run = tmp_path / "run"
    results = run / "results.jsonl"
    for _ in range(kills):
        process = start(run, file, model, index)
        wait_for(process, results, length(results))
        time.sleep(rng.random() * 0.1)
        process.kill()
        process.wait()
    assert start(run, file, model, index).wait() == 0
    assert told(run) == told(tmp_path / "calm")
    assert len(rows(run)) == 6 * kills
