"""The words that methods wait for, and how they ask, in a form that tiny models can write and read.

Tiny models never write `[Search(`. Here product and oracle wait for words that they do write; the exemplars that the
product has of its own are replaced by short ones, as each token of a tiny model is a forward.
"""

import random
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

from flare_local.policies import flare_instruct, question_decomposition
from flare_local.tasks import question_generation
from flare_local.tasks.exemplars import Exemplar, Exemplars
from tests.engine.exactness import CorpusRetriever, shots_of
from tests.oracle import instruct, previous
from tests.oracle.corpus import WordCorpus
from tests.oracle.prompt import Example, Passage, Shots
from tests.tiny_models import tiny_text

ASKING = {
    "question_generation": Exemplars(
        (Exemplar("Anna sailed.", "Who?", hint="Anna"),), "Ask.", 'Text: {question}\nPart: "{hint}"\nQuestion:'
    ),
    "term_extraction": Exemplars((Exemplar("The *old tower.", "old tower"),), "", "In: {question}\nTerm:"),
}

SHORT = [text for text in tiny_text(7, 200) if len(text) < 24]
CORPUS = WordCorpus(SHORT, [text[:5] for text in SHORT], letters=1)  # single letters are words: tiny models write them
EXAMPLES = (
    Example("Where?", "No. 5."),
    Example("Who sailed?", "Anna.", (Passage("ship", "Ship", "Anna sailed."),)),
)
SELF_ASK: dict[str, Any] = {
    "case": "Q: {question}\nA:",
    "examples": (Example("Who?", "Follow up: Anna?\nNo."), Example("When?", "Now.")),
}
SEARCH_SKILL: dict[str, Any] = {
    "case": "Q: {question}\nA (both):",
    "example_case": "Q: {question}\nA:",
    "before": Shots((Example("Where?", "[Search(it)]."),), example_case="Q: {question}\nA:"),
    "closing": "Both.",
}


class ShortRetriever(CorpusRetriever):
    """The product's searches in `CORPUS`."""

    corpus = CORPUS


@dataclass(frozen=True)
class Words:
    """What is waited for."""

    search_begin: str = "["
    search_end: str = "e"
    answer: str = "o"  # ends a follow-up question
    follow_up: str = " "  # begins one


@contextmanager
def spoken(words: Words) -> Iterator[None]:
    """Product and oracle use `words` meanwhile."""
    places: list[tuple[Any, str, Any]] = [
        (flare_instruct, "SEARCH_BEGIN", words.search_begin),
        (instruct, "OPEN", words.search_begin),
        (flare_instruct, "SEARCH_END", words.search_end),
        (instruct, "CLOSE", words.search_end),
        (question_decomposition, "INTERMEDIATE_ANSWER", words.answer),
        (previous, "ANSWER_MARK", words.answer),
        (question_decomposition, "FOLLOW_UP", words.follow_up),
        (previous, "QUESTION_MARK", words.follow_up),
        (question_generation, "own_exemplars", ASKING.__getitem__),
    ]
    with ExitStack() as stack:
        for module, name, word in places:
            stack.enter_context(patch.object(module, name, word))
        yield


def examples(method: str, rng: random.Random) -> dict[str, Any]:
    """The oracle's options for what stands before the question."""
    if method == "question_decomposition":
        return SELF_ASK
    common = {"instruction": rng.choice(["", "Be brief."]), "examples": EXAMPLES[: rng.choice([0, 0, 1, 1, 2])]}
    return {**common, **(SEARCH_SKILL if method == "flare_instruct" else {})}


def asking() -> dict[str, Any]:
    """The oracle's options for asking with the same exemplars."""
    return {
        "asking": shots_of(ASKING["question_generation"]),
        "term": shots_of(ASKING["term_extraction"]),
    }
