"""Words of a text for bm25s, close to Lucene's English analyser: U.S.A. and 3.14 stay whole, a final 's is dropped."""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

_WORD = re.compile(r"\w+(?:[.'’]\w+)*")
_POSSESSIVE = re.compile(r"['’]s$")
STOP_WORDS = frozenset(
    ["a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is", "it", "no", "not", "of", "on", "or", "such", "that", "the", "their", "then", "there", "these", "they", "this", "to", "was", "will", "with"]
)  # Lucene's 33


def words(text: str) -> list[str]:
    """Lower-cased, without stop words, Porter-stemmed; in the order of the text, repetitions kept."""
    found = (_POSSESSIVE.sub("", word) for word in _WORD.findall(text.lower()))
    stems: list[str] = _stem()([word for word in found if word not in STOP_WORDS])
    return stems


@lru_cache(maxsize=1)
def _stem() -> Callable[[list[str]], Any]:
    import Stemmer

    return Stemmer.Stemmer("porter").stemWords  # type: ignore[no-any-return]
