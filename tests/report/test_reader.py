"""What a report reads of folders: evaluations, their rows, plain runs, runs that are not done."""

import json
from pathlib import Path

import pytest

from flare_local.errors import RunFault, UsageError
from flare_local.report.reader import read_report
from tests.report.made import ROWS, evaluation, items, run


@pytest.fixture
def judged(tmp_path: Path) -> Path:
    return evaluation(tmp_path / "judged", items(60))


def test_an_evaluation_is_read_with_its_scores(judged: Path) -> None:
    report = read_report([judged])
    scores = json.loads((judged / "scores.json").read_bytes())
    assert [row.title for row in report.rows] == [row.title for row in ROWS]
    assert len(report.questions) == 60
    for row, written in zip(report.rows, scores["rows"].values(), strict=True):
        assert {each.name: (each.value, each.low, each.high) for each in row.figures} == {
            name: (each["value"], each["low"], each["high"]) for name, each in written["columns"].items()
        }
        assert (len(row.results), len(row.errors)) == (59, 1)
        assert row.calibration["tokens"].count == written["calibration"]["tokens"]["count"]


def test_differences_are_those_of_the_evaluation(judged: Path) -> None:
    report = read_report([judged])
    written = json.loads((judged / "scores.json").read_bytes())["differences"]
    names = [row.name for row in ROWS]
    assert [names[each.row] for each in report.comparisons] == list(written)
    for each in report.comparisons:
        for measure, difference in each.differences:
            there = written[names[each.row]][measure.name]
            assert (difference.difference, difference.p_exchange, difference.needed) == (
                there["difference"],
                there["p_exchange"],
                there["needed"],
            )


def test_two_rows_of_one_evaluation_are_compared(judged: Path) -> None:
    report = read_report([judged / ROWS[0].name, judged / ROWS[1].name])
    assert [row.title for row in report.rows] == ["no_retrieval: No retrieval", "single_time: Single-time retrieval"]
    assert [(each.reference, each.row) for each in report.comparisons] == [(0, 1)]
    assert len(report.questions) == 60


def test_two_evaluations_are_compared_on_the_questions_of_both(judged: Path, tmp_path: Path) -> None:
    other = evaluation(tmp_path / "other", items(30), ROWS[:1])
    report = read_report([judged, other])
    assert report.rows[-1].title == "other: No retrieval"
    last = report.comparisons[-1]
    assert (last.row, last.differences[0][1].questions) == (4, 30)
    assert len(report.questions) == 60


def test_the_folder_of_reproduce_holds_an_evaluation_of_each_task(tmp_path: Path) -> None:
    evaluation(tmp_path / "all" / "2wiki", items(4), ROWS[:2])
    evaluation(tmp_path / "all" / "strategyqa", items(8), ROWS[1:3], task="strategyqa")
    report = read_report([tmp_path / "all"])
    assert [row.title.split(":")[0] for row in report.rows] == ["2wiki", "2wiki", "strategyqa", "strategyqa"]
    assert [(each.reference, each.row) for each in report.comparisons] == [(1, 0), (3, 2)]


def test_questions_of_one_id_and_two_texts_are_two(tmp_path: Path) -> None:
    first, second = items(1)[0], items(2)[1]
    second = type(second)("q0", second.question, 1, answers=second.answers)
    report = read_report([evaluation(tmp_path / "a", [first]), evaluation(tmp_path / "b", [second])])
    assert len(report.questions) == 2
    assert all(each.row < len(ROWS) for each in report.comparisons)  # none across the two
    assert {row.asked for row in report.rows} == {frozenset([key]) for key in report.questions}


def test_a_plain_run_has_cost_and_no_scores(tmp_path: Path) -> None:
    report = read_report([run(tmp_path / "mine", ROWS[2], items(20))])
    figures = {each.name: each for each in report.rows[0].figures}
    assert report.rows[0].title == "mine"
    assert figures["calls"].value == 4
    assert "em" not in figures
    assert report.comparisons == ()


def test_an_evaluation_that_is_not_judged_yet_shows_its_answers(judged: Path) -> None:
    (judged / "scores.json").unlink()
    report = read_report([judged])
    assert "Not judged" in " ".join(report.about)
    assert len(report.rows[0].results) == 59
    assert report.rows[0].values == {}
    assert next(iter(report.questions.values()))["answers"] == ["1700", "AD 1700"]


def test_answers_of_other_processes_and_torn_ends_are_read(judged: Path) -> None:
    folder = judged / ROWS[0].name
    lines = (folder / "results.jsonl").read_bytes().splitlines(keepends=True)
    (folder / "shard-1").mkdir()
    (folder / "shard-1" / "results.jsonl").write_bytes(lines[-1])
    (folder / "results.jsonl").write_bytes(b"".join(lines[:-2]) + lines[-2][:40])
    assert len(read_report([judged]).rows[0].results) == 58


def test_a_row_that_has_not_begun_has_no_answers(judged: Path) -> None:
    for path in (judged / ROWS[1].name).iterdir():
        path.unlink()
    (judged / "scores.json").unlink()
    row = read_report([judged]).rows[1]
    assert (dict(row.results), dict(row.settings)) == ({}, {})


@pytest.mark.parametrize("name", ["absent", "empty"])
def test_what_is_no_run_is_told(name: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="is no run"):
        read_report([tmp_path / name])


@pytest.mark.parametrize("name", ["eval.json", "scores.json"])
@pytest.mark.parametrize("content", ["{", "[]", '{"rows": [{}]}'])
def test_what_was_changed_is_told(name: str, content: str, judged: Path) -> None:
    (judged / name).write_text(content)
    with pytest.raises(RunFault, match="cannot be read"):
        read_report([judged])
