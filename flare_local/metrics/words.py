"""Answers made comparable: lower case, no punctuation, no articles, single blanks (SQuAD's evaluation script)."""

import re
import string

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normal(text: str) -> str:
    """`text` as it is compared."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())
