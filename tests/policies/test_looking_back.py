"""Previous window and previous sentence: what is searched after each unit, and which documents the next one sees."""

from dataclasses import replace

from flare_local.engine.call import Tokens
from flare_local.policies.methods import METHODS
from flare_local.policies.previous_sentence import previous_sentence
from flare_local.policies.previous_window import previous_window
from flare_local.policies.rules import SENTENCE, Rules
from tests.policies.layout import X, d, r, sure
from tests.policies.scripted import ScriptedRetriever, ask

PAPER, RELEASED = Rules.paper(), Rules.released()
WINDOW = replace(PAPER, window=2, window_query=2)


def test_the_next_window_is_written_with_what_the_last_one_finds() -> None:
    retriever = ScriptedRetriever({"Who?": ["Q."], "Ada Borg": ["A."]})
    script = [sure(" Ada", " Borg"), sure(" fell", "."), sure(" End", stop="eos")]
    answer, model = ask(previous_window, script, retriever, WINDOW)
    assert retriever.queries == ["Who?", "Ada Borg", "fell."]
    assert model.prompts == [d("Q.") + X, d("A.") + X + " Ada Borg", X + " Ada Borg fell."]
    assert model.untils == [Tokens(2)] * 3
    assert answer.text == "Ada Borg fell. End"
    assert [step.triggered for step in answer.steps] == [False, True, True]


def test_a_window_has_16_tokens_and_its_query_too() -> None:
    rules = Rules()
    assert (rules.window, rules.window_query) == (16, 16)


def test_the_query_may_be_wider_than_the_window_or_everything() -> None:
    script = [sure(" Ada", " Borg"), sure(" fell", "."), sure(" End", stop="eos")]
    for width, last in ((1, "."), (3, "Borg fell."), (None, "Ada Borg fell.")):
        retriever = ScriptedRetriever()
        ask(previous_window, script, retriever, replace(WINDOW, window_query=width))
        assert retriever.queries[-1] == last


def test_a_window_query_of_everything_is_not_shortened() -> None:
    retriever = ScriptedRetriever()
    rules = replace(WINDOW, window_query=None, query_tokens=3)
    ask(previous_window, [sure(" Ada", " Borg"), sure(" fell", stop="eos")], retriever, rules)
    assert retriever.queries == ["Who?", "Ada Borg"]


def test_in_the_released_program_the_question_s_text_lies_behind_too() -> None:
    rules = replace(RELEASED, window=2, window_query=10)
    retriever = ScriptedRetriever()
    ask(previous_window, [sure(" Ada", " Borg"), sure(" fell", stop="eos")], retriever, rules)
    assert retriever.queries == ["Who?", "Answer: Ada Borg"]


def test_the_last_window_is_as_short_as_the_budget_wants() -> None:
    script = [sure(" Ada", " Borg"), sure(" fell", stop="length")]
    answer, model = ask(previous_window, script, rules=replace(WINDOW, max_new_tokens=3))
    assert model.budgets == [2, 1]
    assert answer.stop_reason == "length"


def test_after_a_blank_window_the_paper_shows_no_documents_and_the_program_the_old_ones() -> None:
    script = [sure(" ", "\n"), sure(" End", stop="eos")]
    for rules, shown in ((WINDOW, ""), (replace(RELEASED, window=2, window_query=2), r("Q."))):
        retriever = ScriptedRetriever({"Who?": ["Q."]})
        answer, model = ask(previous_window, script, retriever, rules)
        assert retriever.queries == ["Who?"]
        assert model.prompts[1] == shown + X + " \n"
        assert (answer.steps[1].triggered, answer.steps[1].search) == (True, None)


def test_a_sentence_is_searched_and_serves_the_next_one_alone() -> None:
    for rules, show in ((PAPER, d), (RELEASED, r)):
        retriever = ScriptedRetriever({"Who?": ["Q."], "Ada fell.": ["A."]})
        script = [sure(" Ada", " fell."), sure(" Borg."), sure(" End", stop="eos")]
        answer, model = ask(previous_sentence, script, retriever, rules)
        assert retriever.queries == ["Who?", "Ada fell.", "Borg."]
        assert model.prompts == [show("Q.") + X, show("A.") + X + " Ada fell.", X + " Ada fell. Borg."]
        assert answer.text == "Ada fell. Borg. End"


def test_a_long_sentence_is_searched_with_its_last_tokens() -> None:
    retriever = ScriptedRetriever()
    ask(previous_sentence, [sure(" Ada fell."), sure(" End", stop="eos")], retriever, replace(PAPER, query_tokens=5))
    assert retriever.queries == ["Who?", "fell."]


def test_nothing_is_searched_once_the_answer_has_ended() -> None:
    retriever = ScriptedRetriever()
    for name in ("previous_window", "previous_sentence"):
        ask(METHODS[name].answer, [sure(" Ada", stop="eos")], retriever, replace(PAPER, initial_retrieval=False))
    assert retriever.queries == []


def test_an_answer_that_ends_after_a_match_is_written_to_the_end_of_that_sentence() -> None:
    rules = replace(WINDOW, end_after="answer is")
    script = [sure(" So", " the"), sure(" answer", " is"), sure(" Ada", " Borg", ".")]
    answer, model = ask(previous_window, script, ScriptedRetriever(), rules)
    assert model.untils == [Tokens(2), Tokens(2), SENTENCE]
    assert model.budgets[-1] == rules.look_ahead
    assert (answer.text, answer.stop_reason) == ("So the answer is Ada Borg.", "end_after")


def test_a_window_that_holds_the_match_and_the_sentence_s_end_is_the_last() -> None:
    rules = replace(WINDOW, window=3, end_after="is")
    answer, _ = ask(previous_window, [sure(" It", " is", " Ada.")], ScriptedRetriever(), rules)
    assert (answer.text, answer.stop_reason) == ("It is Ada.", "end_after")
