"""`flare-local report` from the command line."""

from pathlib import Path

import pytest

from tests.cli.shell import Shell, is_one_clear_line
from tests.report.made import ROWS, evaluation, items, run


def test_a_report_of_an_evaluation_and_a_run(shell: Shell) -> None:
    evaluation(Path("town"), items(4))
    run(Path("mine"), ROWS[0], items(6))
    said = shell("report", "town", "mine", "--out", "page.html")
    assert (said.code, said.out, said.err) == (0, "", "page.html: 6 questions, 5 rows\n")
    assert Path("page.html").read_text("utf-8").startswith("<!DOCTYPE html>")
    assert shell("report", "mine", "--out", "page.html").code == 0  # a page may be written anew


@pytest.mark.parametrize("out", ["mine/results.jsonl", "no/folder/page.html", "mine"])
def test_a_page_takes_the_place_of_nothing_else(shell: Shell, out: str) -> None:
    run(Path("mine"), ROWS[0], items(2))
    before = Path("mine/results.jsonl").read_bytes()
    assert is_one_clear_line(shell("report", "mine", "--out", out), code=2)
    assert Path("mine/results.jsonl").read_bytes() == before


def test_what_is_no_run_is_told_in_one_line(shell: Shell) -> None:
    Path("empty").mkdir()
    assert is_one_clear_line(shell("report", "empty"), code=2)
    assert is_one_clear_line(shell("report", "absent"), code=2)
    assert not Path("report.html").exists()
