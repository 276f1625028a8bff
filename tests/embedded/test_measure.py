"""The measurement: intervals, rows, and a file that an interrupted run goes on with."""

import asyncio
from contextlib import nullcontext
from pathlib import Path

import pytest

from flare_local.embedded import EMBEDDED, embedded_exemplars
from flare_local.embedded.index import PASSAGES
from flare_local.embedded.measure import ARMS, GoldPassages, Outcome, measure, read_outcomes, rows, wilson
from flare_local.embedded.questions import read_questions
from flare_local.policies.rules import Rules
from flare_local.tasks.exemplars import read_exemplars
from tests.policies.scripted import ScriptedModel, says

QUESTIONS = read_questions()


class OneLineEngine:
    """Answers every question in one confident sentence."""

    def question(self, question_id: str, chat: bool = False) -> ScriptedModel:
        return ScriptedModel([says(" So the answer is 1701.", 0.9, stop="eos")])


def outcome(arm: str, question: str, right: bool, group: str = "two-hop") -> Outcome:
    return Outcome(arm, question, group, text="", final="", right=right, seconds=2.0, run=10, reused=90)


@pytest.mark.parametrize(
    ("right", "total", "low", "high"),
    # the worked examples of the interval's closed form: 0 of n is [0, z2 / (n + z2)], n of n its mirror image
    [(0, 20, 0.0, 0.1611), (20, 20, 0.8389, 1.0), (10, 20, 0.2993, 0.7007)],
)
def test_wilson_interval(right: int, total: int, low: float, high: float) -> None:
    assert wilson(right, total) == pytest.approx((low, high), abs=1e-4)


def test_rows_keep_groups_apart() -> None:
    outcomes = [
        outcome(arm.name, f"q{n}", n == 1, group) for n, group in ((1, "two-hop"), (2, "other")) for arm in ARMS
    ]
    table = rows(outcomes)
    assert [(row.group, row.arm, row.right) for row in table] == [
        *(("two-hop", arm.name, 1) for arm in ARMS),
        *(("other", arm.name, 0) for arm in ARMS),
    ]
    assert {(row.questions, row.seconds, row.run, row.reused) for row in table} == {(1, 2.0, 10, 90)}


def test_gold_passages_are_those_of_the_question_in_the_order_of_need() -> None:
    gold = GoldPassages(QUESTIONS, PASSAGES)
    (found,) = asyncio.run(gold.search([QUESTIONS[0].question], 1))
    assert tuple(document.id for document in found) == QUESTIONS[0].supporting_ids


def test_an_interrupted_run_goes_on_and_a_line_cut_off_is_computed_again(tmp_path: Path) -> None:
    file, told = tmp_path / "out.jsonl", []
    arguments = (QUESTIONS[:2], read_exemplars(embedded_exemplars()), Rules(**EMBEDDED), file, told.append)
    gold, opened = GoldPassages(QUESTIONS, PASSAGES), []

    def engines() -> nullcontext[OneLineEngine]:
        opened.append(OneLineEngine())
        return nullcontext(opened[-1])

    first = measure(engines, gold, gold, *arguments)
    assert len(told) == len(first) == 2 * len(ARMS)
    content = file.read_text()
    file.write_text(content[:-5])
    again = measure(engines, gold, gold, *arguments)
    assert len(told) == 2 * len(ARMS) + 1
    assert len(opened) == len(ARMS) + 1  # an engine an arm, and one for the line that was cut off
    assert [(o.arm, o.question) for o in again] == [(o.arm, o.question) for o in first]
    assert {(o.arm, o.question) for o in read_outcomes(file)} == {(o.arm, o.question) for o in first}
