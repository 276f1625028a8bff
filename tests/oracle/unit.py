"""Where a generation ends: stop strings, the budget, and the cut after the first sentence, paragraph or count."""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any


@dataclass(frozen=True)
class Unit:
    """`sentence` (value: least characters), `paragraph`, `tokens` (value: how many) or `whole`."""

    kind: str
    value: int = 0


SENTENCE = Unit("sentence", 5)
PARAGRAPH = Unit("paragraph")
WHOLE = Unit("whole")


@lru_cache(maxsize=1)
def _splitter() -> Any:
    from nltk.tokenize.punkt import PunktSentenceTokenizer

    return PunktSentenceTokenizer()


def first_stop(text: str, stops: tuple[str, ...]) -> int | None:
    """Character at which the earliest stop string begins."""
    found = [at for at in (text.find(stop) for stop in stops) if at >= 0]
    return min(found) if found else None


def first_mark(text: str, marks: tuple[str, ...], stop_at: int | None) -> int | None:
    """Character behind the earliest mark; None where there is none, or a stop string begins before it."""
    found = [(at, at + len(mark)) for mark in marks if (at := text.find(mark)) >= 0]
    if not found or (stop_at is not None and stop_at < min(found)[0]):
        return None
    return min(found)[1]


def unit_end(text: str, unit: Unit) -> int | None:
    """Character at which the unit ends and something follows it; None where the text holds no complete unit."""
    if unit.kind == "sentence":
        for _, end in _splitter().span_tokenize(text):
            if end >= unit.value:
                return end if end < len(text) else None
    if unit.kind == "paragraph":
        match = re.search(r"\S[^\S\n]*(\n)", text)
        return match.start(1) if match else None
    return None
