"""Explicit queries (paper section 3.2.2): for each improbable span of a draft, a question that it would answer.

The same model writes them, or the question model; all of a draft at once, so that their common prompt is computed
once. The released program first asks for the whole term that a span belongs to.
"""

import asyncio
import string

from flare_local.policies.answering import Answering
from flare_local.policies.query import Query, masked, one_query
from flare_local.policies.rules import FullyMasked, Rules
from flare_local.tasks.question_generation import question_case, question_exemplars, term_case, term_exemplars
from flare_local.trace.events import Writing

Span = tuple[int, int]  # tokens of the draft: first, and the one behind the last


async def explicit_query(run: Answering, draft: Writing) -> Query:
    """The questions for the improbable spans of `draft`; the draft itself where it has none."""
    rules = run.rules
    asked: tuple[Writing, ...] = ()
    if rules.schedule.asks_for_terms:
        asked, phrases = await _terms(run, draft)
    else:
        texts = [span_text(draft, span) for span in spans(draft, rules)]
        phrases = [text for text in texts if any(letter.isalnum() for letter in text)]
    if not phrases:
        return Query(one_query(draft.text.strip()).texts, asked)
    passage = run.text + draft.text
    if rules.schedule.passage_has_question:
        passage = f"{run.question} {passage}"
    cases = [question_case(passage, phrase) for phrase in phrases]
    replies = await asyncio.gather(*(run.ask(question_exemplars(), case) for case in cases))
    asked += tuple(replies)
    questions = tuple(dict.fromkeys(text for text in map(first_line, replies) if is_question(text, rules)))
    if not questions and rules.schedule.no_question is FullyMasked.SENTENCE:
        return Query(one_query(draft.text.strip()).texts, asked)
    return Query(questions, asked)


async def _terms(run: Answering, draft: Writing) -> tuple[tuple[Writing, ...], list[str]]:
    """What the model was asked, and the terms that begin where a span does."""
    pieces = draft.generation.pieces
    found = [span for span in spans(draft, run.rules) if span_text(draft, span)]
    cases = [term_case("".join(pieces[:first]), "".join(pieces[first:])) for first, _ in found]
    replies = await asyncio.gather(*(run.ask(term_exemplars(), case) for case in cases))
    terms = [
        term
        for span, reply in zip(found, replies, strict=True)
        if (term := first_line(reply)).startswith(span_text(draft, span))
        and term in draft.text
        and not (len(term) == 1 and term in string.punctuation)
    ]
    return tuple(replies), terms


def spans(draft: Writing, rules: Rules) -> list[Span]:
    """Runs of improbable tokens; those closer than `span_gap` to each other are one, with what lies between."""
    found: list[Span] = []
    for at, probability in enumerate(draft.generation.probabilities):
        if masked(probability, rules):
            near = bool(found) and at - (found[-1][1] - 1) < rules.schedule.span_gap
            found[-1:] = [(found[-1][0], at + 1)] if near else [*found[-1:], (at, at + 1)]
    return found


def span_text(draft: Writing, span: Span) -> str:
    """The text of a span without the blanks around it."""
    return "".join(draft.generation.pieces[slice(*span)]).strip()


def first_line(reply: Writing) -> str:
    """What the model answered."""
    return reply.text.strip().partition("\n")[0].strip()


def is_question(text: str, rules: Rules) -> bool:
    """Whether a reply is searched."""
    return text.endswith("?") if rules.schedule.only_questions else bool(text)
