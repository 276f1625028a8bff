"""Explicit queries: a question for each improbable span, written by the same model."""

import asyncio
from dataclasses import replace

import pytest

from flare_local.engine.call import GREEDY, Generation, Sampling, Whole
from flare_local.policies.explicit_query import spans
from flare_local.policies.flare_direct import flare_direct
from flare_local.policies.prompt import exemplars_text
from flare_local.policies.rules import QueryKind, Rules
from flare_local.tasks.exemplars import NONE
from flare_local.tasks.question_generation import question_exemplars, term_exemplars
from flare_local.trace.events import Answer, Writing
from tests.policies.layout import X, d, sure
from tests.policies.scripted import ScriptedModel, ScriptedRetriever, ask, says

PAPER = replace(Rules.paper(), query=QueryKind.EXPLICIT)
RELEASED = replace(Rules.released(), query=QueryKind.EXPLICIT)
DRAFT = says(" Ada", 0.9, " Borg", 0.1, " was", 0.9, " born", 0.9, " in", 0.9, " 18", 0.3, "15", 0.2, ".", 0.1)
ASK, TERM = exemplars_text(question_exemplars(), PAPER), exemplars_text(term_exemplars(), PAPER)


def question(passage: str, phrase: str) -> str:
    return f'{ASK}Passage: {passage}\nPhrase: "{phrase}"\nQuestion:'


def answered(
    replies: list[str], rules: Rules, draft: Generation = DRAFT, **found: list[str]
) -> tuple[Answer, ScriptedModel, ScriptedRetriever]:
    script = [draft, *(sure(reply, stop="stop") for reply in replies), sure(" Ada.", stop="eos")]
    retriever = ScriptedRetriever(found)
    return *ask(flare_direct, script, retriever, rules), retriever


def writing(*pieces_and_probabilities: str | float) -> Writing:
    return Writing((), (), Whole(), 64, (), says(*pieces_and_probabilities), 0.0)


def test_one_question_for_each_span_over_the_question_and_the_draft() -> None:
    answer, model, retriever = answered([" Who was born?", " When?"], PAPER)
    passage = "Who? Ada Borg was born in 1815."
    assert model.prompts[1:3] == [question(passage, "Borg"), question(passage, "1815.")]
    assert retriever.queries == ["Who?", "Who was born?", "When?"]
    assert [w.text for w in answer.steps[0].asked] == [" Who was born?", " When?"]
    assert len(answer.writings) == 4


def test_another_model_is_asked_with_its_own_tokens_and_chat_template() -> None:
    lm, asker = ScriptedModel([DRAFT, sure(" Ada.", stop="eos")]), ScriptedModel([sure(" Ada?"), sure(" When?")])
    asker.bos, asker.tail = (ord("<"),), (ord(">"),)
    answer = asyncio.run(flare_direct(lm, ScriptedRetriever(), "Who?", NONE, PAPER, None, asker))
    passage = "Who? Ada Borg was born in 1815."
    assert asker.prompts == [f"<{question(passage, phrase)}>" for phrase in ("Borg", "1815.")]
    assert len(lm.prompts) == 2
    assert [writing.question_model for writing in answer.writings] == [False, True, True, False]
    assert (answer.counters.calls, answer.counters.run) == (2, 14)
    assert answer.question_counters is not None
    assert (answer.question_counters.calls, answer.question_counters.run) == (2, 14)


def test_the_passage_has_the_answer_so_far() -> None:
    script = [sure(" One."), DRAFT, sure(" Who?"), sure(" When?"), sure(" Two.", stop="eos")]
    _, model = ask(flare_direct, script, rules=PAPER)
    assert model.prompts[2] == question("Who? One. Ada Borg was born in 1815.", "Borg")


def test_documents_are_interleaved_by_rank_without_repeats_and_cut() -> None:
    found = {"Who?": ["Q."], "Ada?": ["A.", "B.", "C."], "When?": ["B.", "D."]}
    for top_k, texts in ((2, ("A.", "B.")), (3, ("A.", "B.", "D."))):
        answer, model, _ = answered([" Ada?", " When?"], replace(PAPER, top_k=top_k), **found)
        assert model.prompts[-1] == d(*texts) + X
        search = answer.steps[0].search
        assert search is not None
        assert [document.rank for document in search.documents] == list(range(1, top_k + 1))


def test_questions_are_greedy_lines_without_documents_whatever_the_answer_is() -> None:
    rules = replace(PAPER, sampling=Sampling(0.7), look_ahead=9)
    _, model, _ = answered([" Ada?", " When?"], rules)
    assert model.samplings[1:3] == [GREEDY, GREEDY]
    assert model.stops[1:3] == [("\n",), ("\n",)]
    assert model.untils[1:3] == [Whole(), Whole()]
    assert model.budgets[1:3] == [9, 9]


@pytest.mark.parametrize("rules", [PAPER, RELEASED])
def test_without_an_improbable_span_the_draft_itself_is_searched(rules: Rules) -> None:
    _, model, retriever = answered([], rules, says(" Ada", 0.5, " fell.", 0.9))
    assert retriever.queries == ["Who?", "Ada fell."]
    assert len(model.prompts) == 2


def test_a_span_without_letters_and_digits_is_none_in_the_paper() -> None:
    _, _, retriever = answered([], PAPER, says(" Ada", 0.5, " --", 0.1, ".", 0.9))
    assert retriever.queries == ["Who?", "Ada --."]


def test_what_is_no_question_is_searched_by_the_paper_and_left_out_by_the_program() -> None:
    _, _, retriever = answered(["\n", " harbour"], PAPER)
    assert retriever.queries == ["Who?", "harbour"]
    _, _, retriever = answered([" Borg", " 18", " Who?", " harbour"], RELEASED, _wide())
    assert retriever.queries == ["Who?", "Who?"]


def test_where_no_question_came_the_paper_searches_the_draft_and_the_program_nothing() -> None:
    _, _, retriever = answered(["", "\n"], PAPER)
    assert retriever.queries == ["Who?", "Ada Borg was born in 1815."]
    answer, _, retriever = answered([" Borg", " 18", "", " no"], RELEASED, _wide())
    assert retriever.queries == ["Who?"]
    assert answer.steps[0].triggered


def _wide() -> Generation:
    """Two spans that are far apart."""
    fill = [value for word in (" was", " born", " in", " a", " town") for value in (word, 0.9)]
    return says(" Borg", 0.1, *fill, " 18", 0.1)


def test_spans_are_runs_in_the_paper_and_joined_over_gaps_of_four_in_the_program() -> None:
    draft = writing("a", 0.1, "b", 0.9, "c", 0.1, "d", 0.2, "e", 0.9, "f", 0.9, "g", 0.9, "h", 0.9, "i", 0.1, "j", 0.1)
    assert spans(draft, PAPER) == [(0, 1), (2, 4), (8, 10)]
    assert spans(draft, RELEASED) == [(0, 4), (8, 10)]
    nearer = writing("a", 0.1, "b", 0.9, "c", 0.9, "d", 0.9, "e", 0.9, "f", 0.1)
    assert spans(nearer, RELEASED) == [(0, 1), (5, 6)]
    assert spans(writing("a", 0.1, "b", 0.9, "c", 0.9, "d", 0.9, "e", 0.1), RELEASED) == [(0, 5)]


def test_a_probability_of_exactly_beta_belongs_to_a_span_in_the_program_alone() -> None:
    draft = writing("a", 0.4, "b", 0.9)
    assert spans(draft, PAPER) == []
    assert spans(draft, RELEASED) == [(0, 1)]


def test_the_program_asks_for_terms_first_and_shows_no_question_in_the_passage() -> None:
    _, model, retriever = answered([" Borg was", " 18", " Who was?", " When?"], RELEASED, _wide())
    sentence = "Borg was born in a town 18"
    assert model.prompts[1:3] == [
        f"{TERM}Sentence: *Borg was born in a town 18\nTerm:",
        f"{TERM}Sentence: Borg was born in a town *18\nTerm:",
    ]
    assert model.prompts[3:5] == [question(sentence, "Borg was"), question(sentence, "18")]
    assert retriever.queries == ["Who?", "Who was?", "When?"]


@pytest.mark.parametrize("term", ["Ada", "Borg sails", "", "b"])
def test_a_term_that_does_not_begin_with_the_span_or_is_not_in_the_draft_is_dropped(term: str) -> None:
    _, _, retriever = answered([f" {term}", " 18", " When?"], RELEASED, _wide())
    assert retriever.queries == ["Who?", "When?"]


def test_a_term_of_one_punctuation_mark_is_dropped() -> None:
    _, _, retriever = answered([" ."], RELEASED, says(" Ada", 0.9, " fell", 0.9, ".", 0.1))
    assert retriever.queries == ["Who?", "Ada fell."]


def test_a_question_is_cut_like_every_query_and_asked_once() -> None:
    _, _, retriever = answered([" Who was Ada?", " Who was Ada?"], replace(PAPER, query_tokens=4))
    assert retriever.queries == ["Who?", "Ada?"]
