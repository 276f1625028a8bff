"""No retrieval and single-time retrieval."""

from dataclasses import replace

import pytest

from flare_local.errors import UsageError
from flare_local.policies.methods import Policy
from flare_local.policies.no_retrieval import no_retrieval
from flare_local.policies.rules import Rules
from flare_local.policies.single_time import single_time
from flare_local.tasks.exemplars import NONE
from flare_local.trace.events import Ended
from tests.policies.scripted import ScriptedModel, ScriptedRetriever, ask, says

RULES = Rules.paper()


def test_no_retrieval_searches_nothing_and_writes_sentence_by_sentence() -> None:
    retriever = ScriptedRetriever(default=["Doc."])
    script = [says(" One.", 0.1), says(" Two.", 0.1, stop="eos", eos=0.9)]
    answer, model = ask(no_retrieval, script, retriever)
    assert answer.text == "One. Two."
    assert answer.stop_reason is Ended.EOS
    assert retriever.queries == []
    assert model.prompts == ["Question: Who?\nAnswer:", "Question: Who?\nAnswer: One."]
    assert all(step.draft is None and not step.triggered and step.search is None for step in answer.steps)


def test_single_time_searches_once_with_the_question_and_keeps_the_documents() -> None:
    retriever = ScriptedRetriever({"Who?": ["Doc."]})
    answer, model = ask(single_time, [says(" One.", 0.1), says(" Two.", 0.1, stop="stop")], retriever)
    assert retriever.queries == ["Who?"]
    head = "Search results:\n[1] Doc.\nQuestion: Who?\nAnswer:"
    assert model.prompts == [head, head + " One."]
    assert answer.search is not None
    assert [document.id for document in answer.search.documents] == ["d-Doc."]


def test_single_time_without_hits_writes_from_the_question_alone() -> None:
    _, model = ask(single_time, [says(" One.", 0.9, stop="eos")])
    assert model.prompts == ["Question: Who?\nAnswer:"]


def test_single_time_without_an_index_says_so() -> None:
    with pytest.raises(UsageError, match="no index"):
        single_time(ScriptedModel([]), None, "Who?", NONE, RULES).send(None)


@pytest.mark.parametrize("policy", [no_retrieval, single_time])
def test_the_budget_is_never_exceeded_in_either_schedule(policy: Policy) -> None:
    for rules in (RULES, Rules.released()):
        script = [says(" a", 0.9, " b.", 0.9), says(" c.", 0.9, stop="length")]
        answer, model = ask(policy, script, rules=replace(rules, max_new_tokens=3))
        assert model.budgets == [3, 1]
        assert answer.stop_reason is Ended.LENGTH
