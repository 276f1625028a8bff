"""Prompts that the model's context cannot hold: never an overflow, never silently."""

import asyncio
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flare_local.errors import PromptTooLong
from flare_local.policies.methods import METHODS
from flare_local.policies.prompt import Fitted, Prompt, case_text, documents_text, exemplars_text
from flare_local.policies.rules import PAPER, RELEASED, Overflow, Rules
from flare_local.retrieval.document import Document
from flare_local.tasks.exemplars import NONE, Exemplar, Exemplars
from flare_local.tasks.search_skill import with_search_skill
from flare_local.tasks.self_ask import self_ask
from flare_local.trace.events import Cut
from tests.policies.babbler import Babbler
from tests.policies.scripted import ScriptedModel, ScriptedRetriever, ask, says

EXEMPLARS = Exemplars((Exemplar("Where?", "Here."), Exemplar("When?", "Now.")))
OWN_WORDS = {"flare_instruct": with_search_skill, "question_decomposition": self_ask}
QUESTION = "Who?"
RULES = Rules(max_new_tokens=10)


def documents(*texts: str) -> tuple[Document, ...]:
    return tuple(Document(f"d{rank}", "", text, 1.0, rank) for rank, text in enumerate(texts, 1))


def fitted(context: int, found: tuple[Document, ...], exemplars: Exemplars = NONE, rules: Rules = RULES) -> Fitted:
    """A prompt for a model that holds `context` characters, 10 of them for the answer."""
    return Prompt(ScriptedModel([], context_length=context), QUESTION, exemplars, rules).fit(found, (), 10)


def text(prompt: Fitted) -> str:
    return ScriptedModel([]).read(prompt.ids)


def test_a_prompt_that_just_fits_is_whole() -> None:
    found = documents("One two.", "Three.")
    whole = len("Search results:\n[1] One two.\n[2] Three.\nQuestion: Who?\nAnswer:")
    assert fitted(whole + 10, found).cut is None
    assert fitted(whole + 9, found).cut is not None


def test_the_lowest_rank_loses_words_from_its_end() -> None:
    prompt = fitted(77, documents("One two.", "Three  four five."))
    assert text(prompt) == "Search results:\n[1] One two.\n[2] Three  four\nQuestion: Who?\nAnswer:"
    assert prompt.cut == Cut(exemplars=0, documents=0, words=1)


def test_then_it_goes_and_the_next_one_loses_words() -> None:
    prompt = fitted(58, documents("One two.", "Three four five.", " \n"))
    assert text(prompt) == "Search results:\n[1] One\nQuestion: Who?\nAnswer:"
    assert prompt.cut == Cut(exemplars=0, documents=1, words=1)


def test_documents_all_go_before_an_exemplar_does_and_exemplars_go_from_the_last() -> None:
    found = documents("One two.")
    without_documents = exemplars_text(EXEMPLARS, RULES) + case_text(EXEMPLARS, QUESTION)
    prompt = fitted(len(without_documents) + 10, found, EXEMPLARS)
    assert text(prompt) == without_documents
    assert prompt.cut == Cut(exemplars=0, documents=1, words=0)
    prompt = fitted(len(without_documents) + 9, found, EXEMPLARS)
    assert text(prompt).startswith("Question: Where?\nAnswer: Here.\n\n")
    assert "When?" not in text(prompt)
    assert prompt.cut is not None
    assert prompt.cut.exemplars == 1


def test_room_that_an_exemplar_leaves_is_given_to_documents() -> None:
    long_last = replace(EXEMPLARS, examples=(*EXEMPLARS.examples, Exemplar("Why?", "x" * 200)))
    prompt = fitted(250, documents("One two."), long_last)
    assert text(prompt).endswith("[1] One two.\nQuestion: Who?\nAnswer:")
    assert prompt.cut == Cut(exemplars=1, documents=0, words=0)


def test_the_instruction_and_the_question_never_go() -> None:
    exemplars = replace(EXEMPLARS, instruction="Be brief.")
    least = "Be brief.\n\nQuestion: Who?\nAnswer:"
    prompt = fitted(len(least) + 10, documents("One."), exemplars)
    assert text(prompt) == least
    assert prompt.cut == Cut(exemplars=2, documents=1, words=0)
    with pytest.raises(PromptTooLong, match=r"33 tokens without documents and exemplars.*up to 10; the model holds 42"):
        fitted(len(least) + 9, documents("One."), exemplars)


def test_error_refuses_what_would_be_cut() -> None:
    strict = replace(RULES, overflow=Overflow.ERROR)
    found = documents("One two.")
    assert fitted(200, found, rules=strict).cut is None
    with pytest.raises(PromptTooLong, match=r"--overflow cut"):
        fitted(50, found, rules=strict)


def test_the_room_of_a_whole_answer_is_kept_so_that_a_prompt_stays_the_same_while_it_grows() -> None:
    prompt = Prompt(ScriptedModel([], context_length=77), QUESTION, NONE, RULES)
    found = documents("One two.", "Three  four five.")
    first, later = prompt.fit(found, (), 10), prompt.fit(found, (1, 2, 3), 7)
    assert later.ids == (*first.ids, 1, 2, 3)
    assert later.cut == first.cut


def test_the_released_program_s_longer_drafts_have_room_too() -> None:
    assert Rules(schedule=RELEASED, max_new_tokens=10, look_ahead=64).answer_tokens == 9 + 64
    assert Rules(schedule=RELEASED, max_new_tokens=10, look_ahead=1).answer_tokens == 11
    assert Rules(schedule=PAPER, max_new_tokens=10, look_ahead=64).answer_tokens == 10


def test_an_answer_says_what_its_prompts_lack() -> None:
    model_says = [says(" Ada", 0.5, stop="eos"), says(" Ada Borg", 0.9, stop="eos")]
    retriever = ScriptedRetriever(default=["word " * 1000, "second"])
    answer, _ = ask(METHODS["flare_direct"].answer, model_says, retriever)
    assert [writing.cut for writing in answer.writings] == [answer.writings[0].cut] * 2
    cut = answer.writings[0].cut
    assert cut is not None
    assert (cut.documents, str(cut)) == (1, f"1 document, {cut.words} words")
    (document,) = answer.writings[0].documents
    assert len(document.text.split()) == 1000 - cut.words


@settings(max_examples=200, deadline=None)
@given(
    context=st.integers(30, 1200),
    lengths=st.lists(st.integers(0, 60), max_size=4),
    examples=st.lists(st.integers(0, 80), max_size=4),
    question=st.integers(1, 200),
    budget=st.integers(1, 80),
    schedule=st.sampled_from([PAPER, RELEASED]),
    method=st.sampled_from(sorted(METHODS)),
    overflow=st.sampled_from(Overflow),
    seed=st.integers(0, 1000),
)
def test_never_an_overflow_and_never_silently(
    context: int,
    lengths: list[int],
    examples: list[int],
    question: int,
    budget: int,
    schedule: object,
    method: str,
    overflow: Overflow,
    seed: int,
) -> None:
    rules = Rules(schedule=schedule, max_new_tokens=budget, top_k=4, overflow=overflow)  # type: ignore[arg-type]
    exemplars = Exemplars(tuple(Exemplar("q", "a" * (1 + size)) for size in examples))
    exemplars = OWN_WORDS.get(method, lambda given: given)(exemplars)
    found = ["w\t " * length for length in lengths]
    asked = "q" * question
    model = Babbler(seed, context_length=context)
    work = METHODS[method].answer(model, ScriptedRetriever(default=found), asked, exemplars, rules, None)
    try:
        answer = asyncio.run(work)
    except PromptTooLong:
        fixed = exemplars_text(exemplars.without_last(exemplars.count), rules) + case_text(exemplars, asked)
        least = len(model.bos) + len(fixed) + rules.answer_tokens
        least += rules.look_ahead if method == "flare_instruct" else 0  # a search call behind the answer
        uncounted = method == "flare_instruct" and schedule is RELEASED  # its tokens after a search
        assert overflow is Overflow.ERROR or least > context or uncounted
        return
    for writing in answer.writings:
        assert len(writing.prompt) + writing.max_new_tokens <= context
        prompt = Babbler(seed).text(writing.prompt)
        gone = 0 if writing.cut is None else writing.cut.exemplars
        assert exemplars_text(exemplars.without_last(gone), rules) in prompt
        assert (documents_text(writing.documents, rules) + case_text(exemplars, asked)) in prompt
        if overflow is Overflow.ERROR:
            assert writing.cut is None
        if writing.cut is None:
            assert all(document.text in found for document in writing.documents)
        else:
            assert writing.cut.exemplars + writing.cut.documents + writing.cut.words > 0
