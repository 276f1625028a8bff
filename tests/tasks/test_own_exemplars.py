"""The exemplars that come with the program, and the prompts that they become."""

import re

import pytest

from flare_local.policies.prompt import case_text, exemplars_text
from flare_local.policies.rules import Rules
from flare_local.tasks.exemplars import Exemplars
from flare_local.tasks.files import FOLDER, own_exemplars
from flare_local.tasks.question_generation import question_case, question_exemplars, term_case, term_exemplars
from flare_local.tasks.search_skill import COMBINE, TASK, with_search_skill
from flare_local.tasks.self_ask import FOLLOW_UP, INTERMEDIATE_ANSWER, self_ask

PAPER = Rules.paper()
COUNTS = {  # paper, table 7 and prompts 4 to 11; the last three have no number there
    "2wiki": 8,
    "self_ask": 8,
    "strategyqa": 6,
    "asqa": 8,
    "asqa-hint": 8,
    "wikiasp": 4,
    "search": 3,
    "search_combined": 2,
    "open": 4,
    "question_generation": 5,
    "term_extraction": 3,
}


def final(answer: str) -> str:
    """What stands behind "answer is" in the last sentence."""
    return re.split(r"answer is:? ", answer)[-1].rstrip(".")


@pytest.mark.parametrize("name", COUNTS)
def test_there_are_as_many_as_in_the_paper_all_different_and_without_a_blank_line(name: str) -> None:
    examples = own_exemplars(name).examples
    assert len({example.question for example in examples}) == len(examples) == COUNTS[name]
    for example in examples:
        assert "\n\n" not in example.answer  # it ends an answer
        assert example.answer == example.answer.rstrip()


def test_every_file_is_counted() -> None:
    assert {path.stem for path in FOLDER.glob("*.jsonl")} == set(COUNTS)


def test_strategyqa_says_yes_as_often_as_no() -> None:
    assert sorted(final(example.answer) for example in own_exemplars("strategyqa").examples) == ["no"] * 3 + ["yes"] * 3


def test_self_ask_has_the_questions_and_answers_of_2wiki_in_steps() -> None:
    plain, steps = own_exemplars("2wiki").examples, own_exemplars("self_ask").examples
    for one, other in zip(plain, steps, strict=True):
        assert (one.question, final(one.answer)) == (other.question, final(other.answer))
        assert other.answer.startswith(f"Yes.\n{FOLLOW_UP} ")
        assert other.answer.count(FOLLOW_UP) == other.answer.count(INTERMEDIATE_ANSWER) >= 2


def test_asqa_answers_as_many_interpretations_as_it_counts() -> None:
    for example in own_exemplars("asqa").examples:
        (count,) = re.findall(r"this question has (\d) interpretations", example.answer)
        assert len(re.findall(r"\(\d\)", example.answer)) == int(count)


def test_a_hint_and_the_rest_of_its_answer_are_the_answer_without_hints() -> None:
    lead = own_exemplars("asqa-hint").case.rpartition("Answer:")[2]
    for plain, hinted in zip(own_exemplars("asqa").examples, own_exemplars("asqa-hint").examples, strict=True):
        assert plain.question == hinted.question
        assert plain.answer == f"{hinted.hint}{lead} {hinted.answer}"


def test_wikiasp_writes_the_aspects_it_was_asked_for_in_their_order() -> None:
    for example in own_exemplars("wikiasp").examples:
        aspects = re.findall(r"^# (.+)$", example.answer, re.MULTILINE)
        assert f"aspects: {', '.join(aspects).lower()} with one aspect per line." in example.question


def test_self_ask_keeps_a_user_s_own_exemplars_of_that_kind() -> None:
    own = self_ask(own_exemplars("2wiki"))
    assert self_ask(own) is own
    assert own.case == "Question: {question}\nAre follow up questions needed here:"


def test_the_search_skill_stands_before_the_task_and_the_request_to_combine_them_after_it() -> None:
    both = with_search_skill(own_exemplars("2wiki"))
    text = exemplars_text(both, PAPER)
    assert text.startswith("Skill 1. ")
    order = ["Skill 1.", "Answer (with Search):", TASK, "Answer (with step-by-step):", COMBINE]
    assert sorted(order, key=text.index) == order
    assert text.endswith("So the answer is the Rhine.\n\n")
    assert text.count("Answer (with step-by-step & Search): ") == 2
    assert text.count("Answer (with Search): ") == 3
    assert text.count("Answer (with step-by-step): ") == 8
    assert case_text(both, "Who?") == "Question: Who?\nAnswer (with step-by-step & Search):"


def test_the_search_skill_goes_with_a_task_that_has_its_own_instruction_and_no_answer_line() -> None:
    both = with_search_skill(Exemplars(instruction="Be brief.", case="{question}"))
    assert f"\n\n{TASK} Be brief.\n\n" in exemplars_text(both, PAPER)
    assert case_text(both, "Tell.") == "Tell."


@pytest.mark.parametrize("name", ["search", "search_combined"])
def test_every_search_call_of_the_skill_is_closed_and_stands_before_words(name: str) -> None:
    for example in own_exemplars(name).examples:
        assert example.answer.count("[Search(") == len(re.findall(r"\[Search\([^\[\]()]+\)\] \w", example.answer)) >= 2


def test_a_question_is_generated_from_a_passage_on_one_line_and_the_phrase_last() -> None:
    text = exemplars_text(question_exemplars(), PAPER) + question_case("Who?\nAnna {hint} was.\n\nPassage: ", "Anna")
    assert text.endswith('\n\nPassage: Who? Anna {hint} was. Passage:\nPhrase: "Anna"\nQuestion:')


def test_a_term_is_marked_where_it_begins() -> None:
    assert term_case(" Born in", " the Black Forest.") == "Sentence: Born in *the Black Forest.\nTerm:"
    assert term_exemplars().case == "Sentence: {question}\nTerm:"
