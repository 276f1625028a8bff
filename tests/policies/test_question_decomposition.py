"""Question decomposition: follow-up questions are searched and stay in the answer."""

from dataclasses import replace

from flare_local.engine.call import Paragraph, Sentence
from flare_local.policies.question_decomposition import follow_up, question_decomposition
from flare_local.policies.rules import Rules
from flare_local.tasks.exemplars import Exemplar, Exemplars
from flare_local.trace.events import Answer
from tests.policies.layout import d, r, sure
from tests.policies.scripted import ScriptedModel, ScriptedRetriever, ask

PAPER, RELEASED = Rules.paper(), Rules.released()
OWN = Exemplars((Exemplar("Where?", "Yes.\nFollow up: Which?\nIntermediate answer: That."),))
E_TEXT = "Question: Where?\nAnswer: Yes.\nFollow up: Which?\nIntermediate answer: That.\n\n"
X = "Question: Who?\nAnswer:"
SCRIPT = [
    sure(" Yes."),
    sure("\nFollow up:", " Ada?", "\nIntermediate", " answer:", stop="mark"),
    sure(" Borg."),
    sure(" So it is Borg.", stop="eos"),
]
ASKED = " Yes.\nFollow up: Ada?\nIntermediate answer:"


def answered(retriever: ScriptedRetriever, rules: Rules = PAPER) -> tuple[Answer, ScriptedModel]:
    return ask(question_decomposition, SCRIPT, retriever, rules, OWN)


def test_a_follow_up_question_is_searched_and_its_documents_stay_until_the_next() -> None:
    retriever = ScriptedRetriever({"Who?": ["Q."], "Ada?": ["A."]})
    answer, model = answered(retriever)
    assert retriever.queries == ["Who?", "Ada?"]
    assert model.prompts == [
        E_TEXT + d("Q.") + X,
        E_TEXT + d("Q.") + X + " Yes.",
        E_TEXT + d("A.") + X + ASKED,
        E_TEXT + d("A.") + X + ASKED + " Borg.",
    ]
    assert answer.text == (ASKED + " Borg. So it is Borg.").strip()
    assert [step.triggered for step in answer.steps] == [False, False, True, False]


def test_the_released_program_s_template_does_not_search_the_question() -> None:
    retriever = ScriptedRetriever({"Who?": ["Q."], "Ada?": ["A."]})
    _, model = answered(retriever, RELEASED)
    assert retriever.queries == ["Ada?"]
    assert model.prompts[0] == E_TEXT + X
    assert model.prompts[2] == E_TEXT + r("A.") + X + ASKED


def test_pieces_are_sentences_whatever_the_unit_and_may_use_the_whole_budget() -> None:
    _, model = answered(ScriptedRetriever(), replace(PAPER, unit=Paragraph(), look_ahead=8, max_new_tokens=100))
    assert model.untils == [Sentence()] * 4
    assert model.budgets == [100, 99, 95, 94]
    assert set(model.marks) == {("Intermediate answer:",)}


def test_no_question_is_searched_where_none_was_asked() -> None:
    retriever = ScriptedRetriever({"Who?": ["Q."]})
    script = [sure("\nIntermediate answer:", stop="mark"), sure(" Borg.", stop="eos")]
    answer, model = ask(question_decomposition, script, retriever, exemplars=OWN)
    assert retriever.queries == ["Who?"]
    assert model.prompts[1].startswith(E_TEXT + d("Q."))
    assert (answer.steps[1].triggered, answer.steps[1].search) == (True, None)


def test_the_last_question_before_the_last_request_counts() -> None:
    assert follow_up(" Yes.\nFollow up: One?\nFollow up: Two? \nIntermediate answer:") == "Two?"
    assert follow_up(" Intermediate answer: x Follow up: Two?\nIntermediate answer:") == "Two?"
    assert follow_up("\nIntermediate answer:") == ""


def test_exemplars_of_another_kind_are_replaced() -> None:
    exemplars = Exemplars((Exemplar("Where?", "Here."),))
    _, model = ask(question_decomposition, [sure(" Yes.", stop="eos")], exemplars=exemplars)
    assert "Here." not in model.prompts[0]
    assert model.prompts[0].count("Follow up:") > 4
