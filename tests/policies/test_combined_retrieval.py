"""Combined retrieval: the question's documents stay in front of all others."""

from dataclasses import replace

import pytest

from flare_local.errors import UsageError
from flare_local.policies.flare_direct import flare_direct
from flare_local.policies.found import interleaved, with_in_front
from flare_local.policies.question_decomposition import question_decomposition
from flare_local.policies.rules import Rules
from flare_local.retrieval.document import Document
from flare_local.tasks.exemplars import Exemplar, Exemplars
from tests.policies.layout import X, d, r, sure
from tests.policies.scripted import ScriptedRetriever, ask, says

PAPER = replace(Rules.paper(), combine=True)
RELEASED = replace(Rules.released(), combine=True)


def document(identity: str) -> Document:
    return Document(identity, "", f"Text {identity}.", 1.0, 1)


@pytest.mark.parametrize(("rules", "show"), [(PAPER, d), (RELEASED, r)])
def test_they_stay_in_front_of_every_prompt_and_none_is_shown_twice(rules: Rules, show: object) -> None:
    retriever = ScriptedRetriever({"Who?": ["Q.", "P."], "Ada": ["A.", "Q."]})
    script = [says(" Ada", 0.95, " hm", 0.2), sure(" Ada."), sure(" End.", stop="eos")]
    script += [] if rules is PAPER else [sure(" End.", stop="eos")]
    _, model = ask(flare_direct, script, retriever, rules)
    assert model.prompts[0] == show("Q.", "P.") + X  # type: ignore[operator]
    assert model.prompts[1] == show("Q.", "P.", "A.") + X  # type: ignore[operator]
    later = ("Q.", "P.") if rules is PAPER else ("Q.", "P.", "A.")
    assert model.prompts[2] == show(*later) + X + " Ada."  # type: ignore[operator]


def test_they_are_searched_where_a_method_would_not() -> None:
    retriever = ScriptedRetriever({"Who?": ["Q."]})
    exemplars = Exemplars((Exemplar("a", "Follow up: b"),))
    _, model = ask(question_decomposition, [sure(" End.", stop="eos")], retriever, RELEASED, exemplars)
    assert r("Q.") in model.prompts[0]


def test_without_a_search_for_the_question_there_is_nothing_to_keep() -> None:
    with pytest.raises(UsageError, match="no-initial-retrieval"):
        replace(PAPER, initial_retrieval=False)


def test_documents_without_an_id_are_never_the_same() -> None:
    nameless = document("")
    assert len(with_in_front((nameless,), (nameless,))) == 2
    assert len(interleaved([[nameless], [nameless]], 3)) == 2


def test_lists_are_read_in_turns() -> None:
    a, b, c, e = map(document, "abce")
    merged = interleaved([[a, b], [b, c], [], [e]], 3)
    assert [found.id for found in merged] == ["a", "b", "e"]
    assert [found.rank for found in merged] == [1, 2, 3]
