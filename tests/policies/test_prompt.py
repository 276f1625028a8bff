"""How exemplars, documents, question and answer become a prompt."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from flare_local.errors import UsageError
from flare_local.policies.prompt import Prompt, documents_text
from flare_local.policies.rules import Rules
from flare_local.retrieval.document import Document
from flare_local.tasks.exemplars import NONE, Exemplar, Exemplars
from tests.policies.scripted import ScriptedModel

PAPER, RELEASED = Rules.paper(), Rules.released()


def document(text: str, title: str = "") -> Document:
    return Document(id=text, title=title, text=text, score=1.0, rank=1)


def text(
    documents: Sequence[Document] = (), question: str = "Who?", exemplars: Exemplars = NONE, rules: Rules = PAPER
) -> str:
    """The prompt read back."""
    model = ScriptedModel([])
    return model.read(Prompt(model, question, exemplars, rules).fit(documents, (), 1).ids)


def test_without_exemplars_and_documents_a_prompt_is_the_question() -> None:
    assert text() == "Question: Who?\nAnswer:"


def test_documents_stand_between_exemplars_and_question() -> None:
    exemplars = Exemplars((Exemplar("Where?", "Here."),))
    assert text([document("One."), document("Two.")], exemplars=exemplars) == (
        "Question: Where?\nAnswer: Here.\n\n"
        "Search results:\n[1] One.\n[2] Two.\n"
        "Question: Who?\nAnswer:"
    )  # fmt: skip


def test_the_released_program_has_another_header_and_a_colon() -> None:
    assert documents_text([document("One.")], RELEASED) == (
        "Search results ranked based on relevance in descending order:\n[1]: One.\n"
    )


def test_exemplars_carry_their_documents_and_the_instruction_comes_first() -> None:
    examples = (Exemplar("Where?", "Here.", (document("Map."),)), Exemplar("When?", "Now."))
    assert text(exemplars=Exemplars(examples, instruction="Answer well.")) == (
        "Answer well.\n\n"
        "Search results:\n[1] Map.\nQuestion: Where?\nAnswer: Here.\n\n"
        "Question: When?\nAnswer: Now.\n\n"
        "Question: Who?\nAnswer:"
    )  # fmt: skip


def test_titles_are_shown_on_demand_where_there_are_any() -> None:
    documents = [document("Text.", title="A\ntitle"), document("Bare.")]
    assert documents_text(documents, replace(PAPER, titles=True)) == (
        "Search results:\n[1] A title: Text.\n[2] Bare.\n"
    )
    assert "title" not in documents_text(documents, PAPER)


def test_line_breaks_in_a_document_become_spaces_and_other_blanks_stay() -> None:
    assert documents_text([document(" a\r\nb\nc\rd  e\t\n")], PAPER) == "Search results:\n[1] a b c d  e\n"


def test_empty_documents_are_left_out_and_the_others_numbered_on() -> None:
    documents = [document("One."), document(" \n"), document("Three.")]
    assert documents_text(documents, PAPER) == "Search results:\n[1] One.\n[2] Three.\n"
    assert documents_text([document("\n")], PAPER) == ""


def test_ids_are_bos_and_the_parts_each_encoded_by_itself_and_the_answer_as_generated() -> None:
    prompt = Prompt(ScriptedModel([], bos=(7,)), "Who?", Exemplars(instruction="E"), PAPER)
    ids = prompt.fit([document("d")], (1_200_000, 1_200_001), 1).ids
    written = "E\n\nSearch results:\n[1] d\nQuestion: Who?\nAnswer:"
    assert ids == (7, *map(ord, written), 1_200_000, 1_200_001)


def test_a_chat_template_stands_before_the_exemplars_and_between_question_and_answer() -> None:
    prompt = Prompt(ScriptedModel([], bos=(7, 8), tail=(9,)), "Who?", Exemplars(instruction="E"), PAPER)
    ids = prompt.fit((), (1_200_000,), 1).ids
    assert ids == (7, 8, *map(ord, "E\n\nQuestion: Who?\nAnswer:"), 9, 1_200_000)


def test_a_question_is_put_on_one_line() -> None:
    assert text(question=" Who\nwas\r\nit? \n") == "Question: Who was it?\nAnswer:"


def test_braces_in_a_question_are_text() -> None:
    assert text(question="Why {question} {0}?") == "Question: Why {question} {0}?\nAnswer:"


def test_a_blank_question_is_refused() -> None:
    with pytest.raises(UsageError, match="question is empty"):
        text(question=" \n")


def test_a_task_may_put_its_questions_in_its_own_way() -> None:
    case = "Say yes or no.\nQuestion: {question}\nAnswer:"
    exemplars = Exemplars((Exemplar("Is it?", "\n# Yes."),), case=case)
    assert text(exemplars=exemplars) == (
        "Say yes or no.\nQuestion: Is it?\nAnswer:\n# Yes.\n\n"
        "Say yes or no.\nQuestion: Who?\nAnswer:"
    )  # fmt: skip
