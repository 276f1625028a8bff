"""The folder of a run: bound to its questions and settings, one process at a time, never mixed with anything."""

import asyncio
import json
import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from flare_local.errors import RunFault
from flare_local.runs.folder import RunFolder
from flare_local.runs.questions import Asked
from flare_local.runs.record import Record
from tests.runs.made import SETTINGS, answer_to, asked

QUESTIONS = asked(4)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run that was begun."""
    path = tmp_path / "run"
    with RunFolder(path) as folder:
        folder.begin(SETTINGS, QUESTIONS)
    return path


def check(path: Path, settings: dict[str, object] = SETTINGS, questions: list[Asked] = QUESTIONS) -> None:
    with RunFolder(path) as folder:
        folder.check(settings, questions)


def test_the_same_again_is_taken(run: Path) -> None:
    check(run)
    check(run, {"theta": 0.8})
    check(run, questions=QUESTIONS[::-1])  # their order is no setting
    with RunFolder(run) as folder:
        assert folder.questions == QUESTIONS


CHANGES = {
    "a setting": ({"theta": 0.6}, QUESTIONS, "theta was 0.8 and is 0.6"),
    "a new setting": ({"colour": "red"}, QUESTIONS, 'colour was null and is "red"'),
    "two settings": ({"theta": 1, "model_fingerprint": "b"}, QUESTIONS, "theta .*; model_fingerprint "),
    "a question more": (SETTINGS, asked(5), r"1 question not there before \(q5\)"),
    "fewer questions": (SETTINGS, asked(2), r"2 questions gone \(q3, q4\)"),
    "another text": (SETTINGS, [*asked(3), Asked("q4", "Why?", 4)], r"1 question of another text \(q4\)"),
}


@pytest.mark.parametrize(("settings", "questions", "said"), CHANGES.values(), ids=CHANGES)
def test_a_change_is_refused_with_what_changed(
    run: Path, settings: dict[str, object], questions: list[Asked], said: str
) -> None:
    with pytest.raises(RunFault, match=said):
        check(run, settings, questions)


def test_a_replaced_run_stays_beside(run: Path) -> None:
    for _ in range(2):
        with RunFolder(run) as folder:
            folder.begin({"theta": 0.1}, QUESTIONS)
            Record(run, folder.run).close()
    assert json.loads((run / "replaced-1" / "run.json").read_text())["settings"] == SETTINGS
    assert sorted(path.name for path in (run / "replaced-2").iterdir()) == sorted(
        ["run.json", "questions.jsonl", "results.jsonl", "errors.jsonl", "sessions.jsonl"]
    )
    check(run, {"theta": 0.1})


def test_a_replacement_killed_after_any_step_begins_anew(run: Path) -> None:
    with RunFolder(run) as folder:
        Record(run, folder.run).close()
    (run / "run.json").rename(run / "old.json")
    (run / "old.json").unlink()  # what putting aside does first
    with RunFolder(run) as folder:
        assert not folder.begun
        folder.begin(SETTINGS, QUESTIONS)
    assert (run / "replaced-1" / "results.jsonl").exists()
    check(run)


def test_a_second_process_is_refused_and_a_killed_one_is_not_waited_for(run: Path) -> None:
    hold = (
        "import sys, time; from pathlib import Path; from flare_local.runs.folder import RunFolder\n"
        "with RunFolder(Path(sys.argv[1])): print('held', flush=True); time.sleep(60)"
    )
    holder = subprocess.Popen([sys.executable, "-c", hold, run], stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    with pytest.raises(RunFault, match=f"Another process .id {holder.pid}. is working on"):
        RunFolder(run)
    holder.kill()
    holder.wait()
    check(run)


def test_a_folder_with_other_things_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(RunFault, match=r"holds other things than a run \(thesis.txt\)"):
        RunFolder(tmp_path)
    assert os.listdir(tmp_path) == ["thesis.txt"]
    with pytest.raises(RunFault, match="is not a folder"):
        RunFolder(tmp_path / "thesis.txt")


def test_a_folder_made_for_nothing_goes_away(tmp_path: Path) -> None:
    with RunFolder(tmp_path / "run") as folder:
        assert not folder.begun
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": 1}', '{"format": 2}', '{"format": 1, "settings": 3}'])
def test_a_changed_head_is_refused(run: Path, text: str) -> None:
    (run / "run.json").write_text(text)
    with pytest.raises(RunFault, match=r"run\.json"):
        RunFolder(run)


@pytest.mark.parametrize("change", [b"", b'{"id": "q1", "question": "Other?", "line": 1}\n', b'{"x": 1}\n'])
def test_changed_questions_are_refused(run: Path, change: bytes) -> None:
    (run / "questions.jsonl").write_bytes(change)
    with pytest.raises(RunFault, match=r"questions\.jsonl"):
        RunFolder(run)


async def _written(run: Path, times: int = 1) -> None:
    with RunFolder(run) as folder, closing(Record(run, folder.run)) as record:
        for _ in range(times):
            record.answer(QUESTIONS[0], await answer_to(QUESTIONS[0]), calls=False)


def test_results_of_another_run_are_refused(run: Path, tmp_path: Path) -> None:
    asyncio.run(_written(run))
    other = tmp_path / "other"
    with RunFolder(other) as folder:
        folder.begin({"theta": 0.1}, QUESTIONS)
        (other / "results.jsonl").write_bytes((run / "results.jsonl").read_bytes())
        with pytest.raises(RunFault, match="lines of another run"):
            Record(other, folder.run)


def test_two_answers_to_a_question_are_refused(run: Path) -> None:
    asyncio.run(_written(run, times=2))
    with RunFolder(run) as folder, pytest.raises(RunFault, match="two answers to question q1"):
        Record(run, folder.run)
