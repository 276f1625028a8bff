"""Words of a text for bm25s, close to those of Lucene's English analyser.

U.S.A. and 3.14 stay whole, a final 's is dropped.
"""

import re
import threading
from collections.abc import Callable

_WORD = re.compile(r"\w+(?:[.'’]\w+)*")
_POSSESSIVE = re.compile(r"['’]s$")
# fmt: off
STOP_WORDS = frozenset((  # Lucene's 33
    "a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is", "it", "no",
    "not", "of", "on", "or", "such", "that", "the", "their", "then", "there", "these", "they", "this", "to",
    "was", "will", "with",
))
# fmt: on


class _Stemmer(threading.local):
    """PyStemmer's stemmers keep a cache of their own and must not be shared by threads."""

    def __init__(self) -> None:
        import Stemmer

        self.stems: Callable[[list[str]], list[str]] = Stemmer.Stemmer("porter").stemWords


_stemmers: list[_Stemmer] = []  # one, made when first needed: PyStemmer is optional


def words(text: str) -> list[str]:
    """Lower-cased, without stop words, Porter-stemmed; in the order of the text, repetitions kept."""
    if not _stemmers:
        _stemmers.append(_Stemmer())
    found = (_POSSESSIVE.sub("", word) for word in _WORD.findall(text.lower()))
    stems = _stemmers[0].stems([word for word in found if word not in STOP_WORDS])
    return [stem for stem in stems if stem]  # of a lone "s" nothing is left
