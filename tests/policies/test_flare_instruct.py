"""FLARE instruct: search calls are answered and taken out, brackets made likelier and forbidden for a while."""

from dataclasses import replace

import pytest

from flare_local.engine.call import Generation, Sentence, Tokens, Whole
from flare_local.policies.flare_instruct import bracket_ids, flare_instruct
from flare_local.policies.rules import Brackets, Rules
from flare_local.tasks.exemplars import Exemplar, Exemplars
from flare_local.trace.events import Answer, Ended
from tests.policies.babbler import Babbler
from tests.policies.layout import X, d, sure
from tests.policies.scripted import ScriptedModel, ScriptedRetriever, ask

PAPER, RELEASED = Rules.paper(), replace(Rules.released(), brackets=Brackets.ALL)
SKILLED = Exemplars(before=Exemplars((Exemplar("Where?", "At [Search(sea)] sea."),)))
E_TEXT = "Question: Where?\nAnswer: At [Search(sea)] sea.\n\n"
CALL = [sure(" It is", " ", " [", "Search(", stop="mark"), sure("red", " flag", ")]", stop="mark")]
AFTER = [sure(" blood", " of", " them", " all", "."), sure(" End.", stop="eos")]


def answered(
    script: list[Generation], rules: Rules = PAPER, **found: list[str]
) -> tuple[Answer, ScriptedModel, ScriptedRetriever]:
    retriever = ScriptedRetriever({"Who?": ["Q."], **found})
    return *ask(flare_instruct, script, retriever, rules, SKILLED), retriever


def test_a_call_is_searched_and_taken_out_and_its_documents_stay() -> None:
    answer, model, retriever = answered(CALL + AFTER, **{"red flag": ["A."]})
    assert retriever.queries == ["Who?", "red flag"]
    assert model.prompts == [
        E_TEXT + d("Q.") + X,
        E_TEXT + d("Q.") + X + " It is  [Search(",
        E_TEXT + d("A.") + X + " It is",
        E_TEXT + d("A.") + X + " It is blood of them all.",
    ]
    assert answer.text == "It is blood of them all. End."
    assert [(step.triggered, step.kept) for step in answer.steps] == [(False, 1), (True, None), (False, None)]
    assert len(answer.writings) == 4


def test_brackets_are_likelier_but_for_the_tokens_after_a_search() -> None:
    _, model, _ = answered(CALL + AFTER)
    assert model.biases == [{91: 2.0, 92: 2.0}, {91: 2.0, 92: 2.0}, {}, {91: 2.0, 92: 2.0}]
    assert model.banned == [frozenset(), frozenset(), frozenset({91, 92}), frozenset()]
    assert model.untils == [Sentence(), Whole(), Tokens(5), Sentence()]
    assert model.marks == [("[Search(",), (")]",), (), ("[Search(",)]


def test_the_bias_can_be_chosen() -> None:
    _, model, _ = answered([sure(" End.", stop="eos")], replace(PAPER, search_bias=5.0))
    assert model.biases == [{91: 5.0, 92: 5.0}]


def test_the_paper_means_every_bracket_and_the_program_the_one_with_a_space() -> None:
    model = Babbler(0)
    every = model.ids_beginning("[")
    (one,) = bracket_ids(model, Rules.released())
    assert bracket_ids(model, Rules.paper()) == every
    assert len(every) > 2
    assert model.text([one]) == " ["
    assert bracket_ids(model, replace(Rules.paper(), brackets=Brackets.ONE)) == (one,)
    assert bracket_ids(model, replace(Rules.released(), brackets=Brackets.ALL)) == every


@pytest.mark.parametrize(
    ("rules", "budget", "spent"), [(PAPER, 4, [10, 8, 4, 2]), (RELEASED, 5, [10, 64, 5, 9])], ids=["paper", "released"]
)
def test_the_tokens_after_a_search_count_in_the_paper_s_budget_alone(
    rules: Rules, budget: int, spent: list[int]
) -> None:
    short = [sure(" b", " o", stop="length"), sure(" End.", stop="eos")]
    look_ahead = 8 if rules is PAPER else 64
    rules = replace(rules, max_new_tokens=10, look_ahead=look_ahead)
    script = [sure(*["", "a", "b", "c", "d", "e", "f"][1:], " [", "Search(", stop="mark"), *CALL[1:], *short]
    if rules.schedule is RELEASED.schedule:
        script[0] = CALL[0]
    _, model, _ = answered(script, rules)
    assert model.budgets[2] == budget
    assert model.budgets == spent


def test_an_end_among_those_tokens_ends_the_paper_s_answer_and_not_the_program_s() -> None:
    ending = sure(" blood.", stop="eos")
    answer, _, _ = answered([*CALL, ending])
    assert (answer.text, answer.stop_reason) == ("It is blood.", Ended.EOS)
    answer, _, _ = answered([*CALL, ending, sure(" End.", stop="eos")], RELEASED)
    assert answer.text == "It is blood. End."


def test_no_token_after_a_search_ends_every_answer() -> None:
    for rules in (PAPER, RELEASED):
        answer, _, _ = answered([*CALL, sure(stop="eos")], rules)
        assert (answer.text, answer.stop_reason) == ("It is", Ended.EOS)


def test_a_call_that_is_not_closed_is_taken_out_and_not_searched() -> None:
    answer, model, retriever = answered([CALL[0], sure("red", stop="length"), *AFTER])
    assert retriever.queries == ["Who?"]
    assert model.prompts[2] == E_TEXT + d("Q.") + X + " It is"
    assert answer.text == "It is blood of them all. End."


def test_an_end_inside_a_call_ends_the_answer() -> None:
    for stop in ("eos", "stop"):
        answer, _, retriever = answered([CALL[0], sure("red", stop=stop)])
        assert (answer.text, answer.stop_reason) == ("It is", Ended(stop))
        assert retriever.queries == ["Who?"]


def test_a_blank_query_is_not_searched_and_the_documents_stay() -> None:
    answer, model, retriever = answered([CALL[0], sure(" ", ")]", stop="mark"), *AFTER])
    assert retriever.queries == ["Who?"]
    assert model.prompts[2] == E_TEXT + d("Q.") + X + " It is"
    assert answer.steps[1].triggered


def test_a_call_written_in_one_token_needs_no_second_call_of_the_model() -> None:
    answer, model, retriever = answered([sure(" It is", " [Search(red)].", stop="mark"), *AFTER])
    assert retriever.queries == ["Who?", "red"]
    assert len(model.prompts) == 3
    assert answer.text == "It is blood of them all. End."


def test_a_token_that_reaches_into_a_call_goes_with_it() -> None:
    answer, _, _ = answered([sure(" It is", ".[", "Search(", stop="mark"), CALL[1], *AFTER])
    assert answer.text == "It is blood of them all. End."


def test_the_task_s_exemplars_get_the_skill_in_front() -> None:
    _, model = ask(flare_instruct, [sure(" End.", stop="eos")], exemplars=Exemplars((Exemplar("Where?", "Here."),)))
    assert model.prompts[0].startswith("Skill 1.")
    assert "Answer (with step-by-step): Here." in model.prompts[0]
    assert model.prompts[0].endswith("Question: Who?\nAnswer (with step-by-step & Search):")


def test_a_search_call_in_the_sentence_that_ends_the_answer_is_answered_first() -> None:
    rules = replace(PAPER, end_after="It is")
    answer, _, retriever = answered([*CALL, AFTER[0]], rules)
    assert retriever.queries == ["Who?", "red flag"]
    assert (answer.text, answer.stop_reason) == ("It is blood of them all.", "end_after")
