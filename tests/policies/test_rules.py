"""The numbers and switches of the two schedules."""

from dataclasses import replace

import pytest

from flare_local.engine.call import Paragraph, Sampling, Sentence, Tokens
from flare_local.errors import UsageError
from flare_local.policies.rules import Rules


def test_defaults_are_the_papers() -> None:
    rules = Rules()
    assert (rules.theta, rules.beta, rules.top_k, rules.look_ahead, rules.max_new_tokens) == (0.8, 0.4, 2, 64, 256)
    assert rules == Rules.paper()
    assert rules.query_tokens == 64
    assert rules.end_after is None


def test_released_differs_from_paper_in_the_schedule_alone() -> None:
    assert replace(Rules.released(), schedule=Rules.paper().schedule) == Rules.paper()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"theta": 7.0}, "theta is 7"),
        ({"theta": -0.1}, "theta is -0.1"),
        ({"theta": float("nan")}, "theta is nan"),
        ({"beta": 1.01}, "beta is 1.01"),
        ({"top_k": 0}, "top-k is 0"),
        ({"look_ahead": 0}, "look-ahead is 0"),
        ({"query_tokens": 0}, "query-tokens is 0"),
        ({"max_new_tokens": 0}, "max-new-tokens is 0"),
        ({"max_sentences": 0}, "max-sentences is 0"),
        ({"unit": Tokens(0)}, "unit tokens is 0"),
        ({"unit": Tokens(65)}, "longer than the look-ahead"),
        ({"end_after": "("}, "not a regular expression"),
        ({"sampling": Sampling(temperature=-1)}, "temperature is -1"),
        ({"sampling": Sampling(top_p=0)}, "top-p is 0"),
    ],
)
def test_senseless_numbers_are_refused_by_name(wrong: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError, match=said.replace("(", r"\(")):
        Rules(**wrong)  # type: ignore[arg-type]


def test_a_draft_of_the_paper_stays_within_the_budget_and_one_of_the_program_does_not() -> None:
    assert Rules.paper().draft_tokens(left=10) == 10
    assert Rules.released().draft_tokens(left=10) == 64


def test_a_sentence_of_the_program_may_have_two_tokens_whatever_is_left() -> None:
    assert Rules.paper().sentence_tokens(left=1) == 1
    assert Rules.released().sentence_tokens(left=1) == 2
    assert Rules.released().sentence_tokens(left=200) == 64


@pytest.mark.parametrize(
    ("unit", "words"),
    [
        (Sentence(), "sentence"),
        (Sentence(trained=True), "sentence, trained"),
        (Paragraph(), "paragraph"),
        (Tokens(16), "tokens:16"),
    ],
)
def test_rules_are_recorded_in_words(unit: Sentence | Paragraph | Tokens, words: str) -> None:
    record = Rules(unit=unit).as_dict()
    assert record["unit"] == words
    assert record["schedule"] == "paper"
