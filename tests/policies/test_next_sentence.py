"""Next sentence (paper, table 3): always a search, with the complete draft."""

from dataclasses import replace

from flare_local.policies.next_sentence import next_sentence
from flare_local.policies.rules import FirstSentence, Rules
from tests.policies.layout import X, d, sure
from tests.policies.scripted import ScriptedRetriever, ask, says

PAPER, RELEASED = Rules.paper(), Rules.released()


def test_a_certain_draft_is_searched_as_it_is_and_written_again() -> None:
    retriever = ScriptedRetriever({"Ada fell.": ["A."]})
    answer, model = ask(next_sentence, [sure(" Ada fell."), sure(" Ada rose.", stop="eos")], retriever)
    assert retriever.queries == ["Who?", "Ada fell."]
    assert model.prompts == [X, d("A.") + X]
    assert answer.text == "Ada rose."


def test_theta_and_beta_change_nothing() -> None:
    for rules in (PAPER, RELEASED):
        for theta in (0.0, 0.5, 1.0):
            retriever = ScriptedRetriever()
            script = [says(" Ada", 0.0, " fell.", 0.95), sure(" Ada rose.", stop="eos")]
            ask(next_sentence, script, retriever, replace(rules, theta=theta, beta=1.0))
            assert retriever.queries == ["Who?", "Ada fell."]


def test_a_blank_draft_is_kept_by_the_paper_and_written_again_by_the_program() -> None:
    answer, model = ask(next_sentence, [says(" \n", 0.1, stop="eos")], rules=PAPER)
    assert len(model.prompts) == 1
    assert not answer.steps[0].triggered
    answer, model = ask(next_sentence, [says(" \n", 0.1), sure(" Ada.", stop="eos")], rules=RELEASED)
    assert len(model.prompts) == 2
    assert (answer.steps[0].triggered, answer.steps[0].search) == (True, None)


def test_the_first_sentence_may_be_accepted_as_it_is() -> None:
    rules = replace(PAPER, first_sentence=FirstSentence.ACCEPT)
    answer, _ = ask(next_sentence, [sure(" One."), sure(" Two."), sure(" Three.", stop="eos")], rules=rules)
    assert [step.triggered for step in answer.steps] == [False, True]
