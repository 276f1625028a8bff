"""FLARE direct, step by step: what the model is shown, what is searched, what is kept, where it ends."""

from dataclasses import replace

import pytest

from flare_local.engine.call import Generation, Paragraph, Sampling
from flare_local.policies.flare_direct import flare_direct
from flare_local.policies.rules import FirstSentence, Rules
from flare_local.trace.events import Ended, Event, Search, Step
from tests.policies.scripted import ScriptedRetriever, ask, says

PAPER, RELEASED = Rules.paper(), Rules.released()
X = "Question: Who?\nAnswer:"


def d(*texts: str) -> str:
    lines = "".join(f"[{number}] {text}\n" for number, text in enumerate(texts, start=1))
    return "Search results:\n" + lines


def r(*texts: str) -> str:
    lines = "".join(f"[{number}]: {text}\n" for number, text in enumerate(texts, start=1))
    return "Search results ranked based on relevance in descending order:\n" + lines


def sure(text: str, stop: str = "boundary") -> Generation:
    return says(text, 0.95, stop=stop)


def unsure(text: str, stop: str = "boundary") -> Generation:
    return says(text, 0.95, " hm", 0.2, stop=stop)


# Schedule paper


def test_paper_takes_a_confident_draft_as_it_is_and_drafts_without_documents_after_the_first() -> None:
    retriever = ScriptedRetriever({"Who?": ["Q."]})
    answer, model = ask(flare_direct, [sure(" One."), sure(" Two."), says(stop="eos")], retriever)
    assert model.prompts == [d("Q.") + X, X + " One.", X + " One. Two."]
    assert retriever.queries == ["Who?"]
    assert answer.text == "One. Two."
    assert [step.accepted for step in answer.steps] == [True, True, True]


def test_paper_searches_with_the_masked_draft_and_writes_an_unsure_sentence_again() -> None:
    retriever = ScriptedRetriever({"Who?": ["Q."], "Ada": ["A.", "B."]})
    answer, model = ask(flare_direct, [unsure(" Ada"), sure(" Ada fell."), sure(" End.", "eos")], retriever)
    assert retriever.queries == ["Who?", "Ada"]
    assert model.prompts == [d("Q.") + X, d("A.", "B.") + X, X + " Ada fell."]
    assert answer.text == "Ada fell. End."
    step = answer.steps[0]
    assert (step.triggered, step.accepted) == (True, False)
    assert step.search is not None
    assert [document.text for document in step.search.documents] == ["A.", "B."]


def test_the_rejected_draft_is_handed_on_as_speculation() -> None:
    _, model = ask(flare_direct, [unsure(" Ada"), sure(" Ada fell.", "eos")])
    assert model.speculated == ["", " Ada hm"]


def test_paper_without_initial_retrieval_drafts_the_first_sentence_without_documents() -> None:
    retriever = ScriptedRetriever(default=["Q."])
    rules = replace(PAPER, initial_retrieval=False)
    answer, model = ask(flare_direct, [sure(" One.", "eos")], retriever, rules)
    assert retriever.queries == []
    assert model.prompts == [X]
    assert answer.search is None


def test_paper_may_accept_the_first_sentence_unjudged() -> None:
    rules = replace(PAPER, first_sentence=FirstSentence.ACCEPT)
    answer, _ = ask(flare_direct, [unsure(" Ada"), unsure(" Bob"), sure(" Bob fell.", "eos")], rules=rules)
    assert [step.triggered for step in answer.steps] == [False, True]
    assert answer.text == "Ada hm Bob fell."


def test_paper_where_nothing_is_found_writes_the_sentence_again_without_documents() -> None:
    retriever = ScriptedRetriever({"Who?": ["Q."]})
    answer, model = ask(flare_direct, [unsure(" Ada"), sure(" Ada fell.", "eos")], retriever)
    assert model.prompts == [d("Q.") + X, X]
    assert answer.steps[0].search is not None
    assert answer.steps[0].search.documents == ()


def test_fewer_hits_than_asked_for_are_shown_as_they_are() -> None:
    retriever = ScriptedRetriever({"Ada": ["A."]})
    _, model = ask(flare_direct, [unsure(" Ada"), sure(" Ada fell.", "eos")], retriever, replace(PAPER, top_k=5))
    assert model.prompts[1] == d("A.") + X


def test_more_hits_than_asked_for_never_come() -> None:
    retriever = ScriptedRetriever({"Ada": ["A.", "B.", "C."]})
    _, model = ask(flare_direct, [unsure(" Ada"), sure(" Ada fell.", "eos")], retriever, replace(PAPER, top_k=1))
    assert model.prompts[1] == d("A.") + X


def test_paper_where_everything_is_masked_searches_the_draft_itself() -> None:
    retriever = ScriptedRetriever()
    ask(flare_direct, [says(" Ada", 0.1, " fell.", 0.1), sure(" Yes.", "eos")], retriever)
    assert retriever.queries == ["Who?", "Ada fell."]


def test_paper_theta_0_never_searches_and_theta_1_always_does() -> None:
    never, always = ScriptedRetriever(), ScriptedRetriever()
    ask(flare_direct, [unsure(" Ada", "eos")], never, replace(PAPER, theta=0))
    ask(flare_direct, [says(" Ada", 1.0), sure(" Ada.", "eos")], always, replace(PAPER, theta=1))
    assert never.queries == ["Who?"]
    assert always.queries == ["Who?", "Ada"]


def test_paper_keeps_a_blank_draft_and_goes_on() -> None:
    answer, model = ask(flare_direct, [says(" \n", 0.1), sure(" One.", "eos")])
    assert model.prompts[1] == X + " \n"
    assert answer.text == "One."


def test_paper_ends_with_an_empty_draft_whose_call_is_in_the_trace() -> None:
    answer, _ = ask(flare_direct, [sure(" One."), says(stop="stop")])
    assert answer.stop_reason is Ended.STOP
    assert len(answer.writings) == 2
    assert answer.text == "One."


def test_an_unsure_draft_that_ended_in_eos_is_written_again_and_may_go_on() -> None:
    script = [unsure(" Ada", "eos"), sure(" Ada fell."), sure(" End.", "eos")]
    answer, _ = ask(flare_direct, script)
    assert answer.text == "Ada fell. End."


def test_a_confident_draft_that_ended_in_eos_ends_the_answer() -> None:
    answer, _ = ask(flare_direct, [says(" One.", 0.95, stop="eos", eos=0.1)])
    assert answer.stop_reason is Ended.EOS
    assert answer.steps[0].accepted


def test_a_written_sentence_without_tokens_ends_the_answer() -> None:
    answer, _ = ask(flare_direct, [unsure(" Ada"), says(stop="eos", eos=0.9)])
    assert answer.stop_reason is Ended.EOS
    assert answer.text == ""


def test_a_sentence_without_end_is_kept_and_the_answer_goes_on() -> None:
    answer, model = ask(flare_direct, [sure(" one two", "length"), sure(" three.", "eos")])
    assert model.prompts[1] == X + " one two"
    assert answer.text == "one two three."


def test_paper_fits_drafts_and_sentences_into_the_tokens_left() -> None:
    script = [says(" a", 0.9, " b.", 0.9), says(" c", 0.1), says(" d", 0.9, stop="length")]
    answer, model = ask(flare_direct, script, rules=replace(PAPER, max_new_tokens=3))
    assert model.budgets == [3, 1, 1]
    assert answer.stop_reason is Ended.LENGTH


def test_look_ahead_limits_drafts_and_sentences() -> None:
    _, model = ask(flare_direct, [unsure(" Ada"), sure(" Ada.", "eos")], rules=replace(PAPER, look_ahead=5))
    assert model.budgets == [5, 5]


# Schedule released


def test_released_writes_a_confident_sentence_again_over_the_same_prompt() -> None:
    retriever = ScriptedRetriever({"Who?": ["Q."]})
    answer, model = ask(flare_direct, [sure(" One."), sure(" One.", "eos")], retriever, RELEASED)
    assert model.prompts == [r("Q.") + X, r("Q.") + X]
    assert not answer.steps[0].accepted
    assert answer.steps[0].search is None


def test_released_keeps_documents_until_others_replace_them_and_drafts_see_them() -> None:
    retriever = ScriptedRetriever({"Who?": ["Q."], "Ada": ["A."]})
    script = [sure(" One."), sure(" One."), unsure(" Ada"), sure(" Ada."), sure(" End."), sure(" End.", "eos")]
    _, model = ask(flare_direct, script, retriever, RELEASED)
    assert model.prompts == [
        r("Q.") + X,
        r("Q.") + X,
        r("Q.") + X + " One.",
        r("A.") + X + " One.",
        r("A.") + X + " One. Ada.",
        r("A.") + X + " One. Ada.",
    ]


def test_released_lets_an_empty_result_replace_the_documents() -> None:
    retriever = ScriptedRetriever({"Who?": ["Q."]})
    _, model = ask(flare_direct, [unsure(" Ada"), sure(" Ada.", "eos")], retriever, RELEASED)
    assert model.prompts == [r("Q.") + X, X]


def test_released_where_everything_is_masked_searches_nothing_and_keeps_the_documents() -> None:
    retriever = ScriptedRetriever({"Who?": ["Q."]})
    script = [says(" Ada", 0.1), sure(" Ada.", "eos")]
    answer, model = ask(flare_direct, script, retriever, RELEASED)
    assert retriever.queries == ["Who?"]
    assert model.prompts[1] == r("Q.") + X
    assert answer.steps[0].triggered
    assert answer.steps[0].search is None


def test_released_judges_the_first_sentence() -> None:
    answer, _ = ask(flare_direct, [unsure(" Ada"), sure(" Ada.", "eos")], rules=RELEASED)
    assert answer.steps[0].triggered


def test_released_writes_after_an_empty_draft_too() -> None:
    answer, _ = ask(flare_direct, [says(stop="eos", eos=0.9), says(stop="eos", eos=0.9)], rules=RELEASED)
    assert answer.stop_reason is Ended.EOS
    assert len(answer.writings) == 2


def test_released_drafts_past_the_budget_and_gives_a_sentence_two_tokens() -> None:
    script = [
        sure(" a", "length"),
        sure(" a", "length"),
        sure(" b", "length"),
        says(" b", 0.9, " c", 0.9, stop="length"),
    ]
    answer, model = ask(flare_direct, script, rules=replace(RELEASED, max_new_tokens=2))
    assert model.budgets == [64, 2, 64, 2]
    assert answer.stop_reason is Ended.LENGTH


# Both schedules


def test_the_question_as_a_query_is_never_cut_and_a_draft_is() -> None:
    retriever = ScriptedRetriever()
    rules = replace(PAPER, query_tokens=6)
    ask(flare_direct, [unsure(" Ada fell down"), sure(" Yes.", "eos")], retriever, rules, question="Who fell down?")
    assert retriever.queries == ["Who fell down?", "l down"]


@pytest.mark.parametrize("rules", [PAPER, RELEASED])
def test_end_after_ends_with_the_sentence_that_completes_it(rules: Rules) -> None:
    calls = 1 if rules is PAPER else 2
    script = [sure(" One.")] * calls + [sure(" So the answer is 3.")] * calls
    answer, _ = ask(flare_direct, script, rules=replace(rules, end_after="answer is"))
    assert answer.stop_reason is Ended.END_AFTER
    assert answer.text == "One. So the answer is 3."


def test_end_after_may_be_completed_across_two_sentences() -> None:
    answer, _ = ask(flare_direct, [sure(" The answer"), sure(" is 3.")], rules=replace(PAPER, end_after="answer is"))
    assert answer.stop_reason is Ended.END_AFTER


@pytest.mark.parametrize("rules", [PAPER, RELEASED])
def test_max_sentences_ends_the_answer(rules: Rules) -> None:
    calls = 1 if rules is PAPER else 2
    answer, _ = ask(flare_direct, [sure(" One.")] * calls, rules=replace(rules, max_sentences=1))
    assert answer.stop_reason is Ended.MAX_SENTENCES


def test_unit_and_sampling_reach_the_model() -> None:
    rules = replace(PAPER, unit=Paragraph(), sampling=Sampling(temperature=0.7, seed=3))
    _, model = ask(flare_direct, [unsure(" Ada"), sure(" Ada.", "eos")], rules=rules)
    assert model.untils == [Paragraph(), Paragraph()]
    assert model.samplings == [Sampling(temperature=0.7, seed=3)] * 2


def test_an_observer_sees_the_search_with_the_question_and_then_every_step() -> None:
    seen: list[Event] = []
    answer, _ = ask(flare_direct, [sure(" One."), sure(" Two.", "eos")], observe=seen.append)
    assert [type(event) for event in seen] == [Search, Step, Step]
    assert seen == [answer.search, *answer.steps]


def test_the_answer_adds_up_its_calls_and_records_its_rules() -> None:
    answer, _ = ask(flare_direct, [unsure(" Ada"), sure(" Ada."), says(stop="eos")], rules=replace(PAPER, theta=0.5))
    assert answer.counters.calls == len(answer.writings) == 3
    assert answer.counters.run == 21
    assert answer.counters.total_ms >= answer.counters.search_ms > 0
    assert answer.config["theta"] == 0.5
    assert answer.schedule == "paper"
    assert "python" in answer.versions
