"""Exact match, F1, precision and recall, and what is taken out of an output: 12 cases each, worked out by hand."""

from fractions import Fraction as F

import pytest

from flare_local.metrics.extract import answers_to_readings, output, short_answer, yes_or_no
from flare_local.metrics.short_answer import best_overlap, contains, exact_match, squad_f1

# prediction, answers, EM, F1, precision, recall
CASES = [
    ("Sund", ["Sund"], 1, F(1), F(1), F(1)),
    ("the Sund!", ["sund"], 1, F(1), F(1), F(1)),
    ("Gora", ["Sund"], 0, F(0), F(0), F(0)),
    ("Anna Borg", ["Borg"], 0, F(2, 3), F(1, 2), F(1)),
    ("Borg", ["Anna Maria Borg"], 0, F(1, 2), F(1), F(1, 3)),
    ("27 June 1441", ["June 27, 1441"], 0, F(1), F(1), F(1)),
    ("old old bridge", ["old bridge bridge"], 0, F(2, 3), F(2, 3), F(2, 3)),
    ("yes", ["yes"], 1, F(1), F(1), F(1)),
    ("yes", ["yes it is"], 0, F(0), F(0), F(0)),
    ("yes indeed", ["yes"], 0, F(0), F(0), F(0)),
    ("the", ["Sund"], 0, F(0), F(0), F(0)),
    ("the city of Old Sund", ["Sund", "city of Sund town"], 0, F(3, 4), F(3, 4), F(1)),
]


@pytest.mark.parametrize(("predicted", "answers", "em", "f1", "precision", "recall"), CASES)
def test_short_answers(predicted: str, answers: list[str], em: int, f1: F, precision: F, recall: F) -> None:
    best = best_overlap(predicted, answers)
    assert exact_match(predicted, answers) == em
    assert (best.f1, best.precision, best.recall) == pytest.approx((float(f1), float(precision), float(recall)))


def test_each_metric_takes_its_own_best_alias() -> None:
    best = best_overlap("Anna Borg", ["Borg", "Queen Anna Borg of Sund"])
    assert best.recall == 1.0  # of Borg
    assert best.precision == 1.0  # of the longer one
    assert best.f1 == pytest.approx(2 / 3)  # of Borg; 4 / 7 of the longer one


OUTPUTS = [
    ("She was born in Sund. So the answer is Sund.", "Sund."),
    (" So the answer is  27 June 1441 .", "27 June 1441 ."),
    ("The answer is: Sund", None),
    ("So the answer is\nSund", None),
    ("So the answer is ", None),
    ("the answer is A. So the answer is B.", "A. So the answer is B."),
    ("Sund", None),
    ("", None),
    ("No idea.\n\nSo the answer is Sund.", None),
    ("So the answer is Sund.\n\nQuestion: Who?", "Sund."),
    ("so the final answer is yes.\nmore", "yes."),
    ("So the Answer is Sund.", None),
]


@pytest.mark.parametrize(("text", "said"), OUTPUTS)
def test_the_answer_stands_behind_answer_is(text: str, said: str | None) -> None:
    assert short_answer(text) == said


YES_OR_NO = [
    ("So the final answer is yes.", "yes"),
    ("So the final answer is no.", "no"),
    ("So the answer is no. It is.", "no"),
    ("So the final answer is yes", None),
    ("So the final answer is Yes.", None),
    ("So the final answer is yes, it is.", None),
    ("Yes.", None),
    ("", None),
    ("the answer is not yes. So the answer is no.", "no"),
    ("So the final answer is no.\n\nthe answer is yes.", "no"),
    ("thus\n\nthe answer is yes.", None),
    ("The answer is yes. The answer is no.", "yes"),
]


@pytest.mark.parametrize(("text", "said"), YES_OR_NO)
def test_yes_or_no_needs_its_full_stop(text: str, said: str | None) -> None:
    assert yes_or_no(text) == said


READINGS = [
    ("x. The answers to all interpretations are: (1) A. (2) B.", "(1) A. (2) B.", True),
    ("The answer to this interpretation is: A.", "A.", True),
    ("The answer to this interpretation is A.", "A.", True),
    ("Therefore, this question has 2 interpretations and the answers are: (1) A. (2) B.", "(1) A. (2) B.", True),
    ("The answers to all interpretations are: (1) A.\n(2) B.", "(1) A.\n(2) B.", True),
    ("A. B.", "A. B.", False),
    ("A.\n\nThe answers to all interpretations are: B.", "A.", False),
    ("", "", False),
]


@pytest.mark.parametrize(("text", "said", "announced"), READINGS)
def test_the_answers_to_readings_stand_behind_their_announcement(text: str, said: str, announced: bool) -> None:
    assert answers_to_readings(text) == (said, announced)


def test_an_output_ends_at_a_blank_line() -> None:
    assert output("\n # History\nOld.\n# Staff\nTen.\n\nQuestion: ") == "# History\nOld.\n# Staff\nTen."


SQUAD = [
    ("", [""], F(1)),
    ("", ["Sund"], F(0)),
    ("Sund", [""], F(0)),
    ("the", ["a"], F(1)),
    ("Sund", ["Sund"], F(1)),
    ("yes", ["yes it is"], F(1, 2)),
    ("Anna Borg", ["Borg"], F(2, 3)),
    ("Anna Borg", ["Gora", "Anna Borg Hale"], F(4, 5)),
]


@pytest.mark.parametrize(("predicted", "answers", "f1"), SQUAD)
def test_squad_f1(predicted: str, answers: list[str], f1: F) -> None:
    assert squad_f1(predicted, answers) == pytest.approx(float(f1))


def test_contained_answers_are_compared_without_articles_and_signs() -> None:
    assert contains("It opened in the May, 1904.", ["May 1904"]) == 1
    assert contains("It opened in 1905.", ["May 1904"]) == 0
