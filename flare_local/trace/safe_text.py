"""Texts of models, documents and questions on their way to a terminal: data, never commands to it."""

import unicodedata

LINE_SEPARATORS = "\u2028\u2029"
BIDIRECTIONAL = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"  # can reorder a whole line


def safe_text(text: str, keep: str = "\n\t") -> str:
    """`text` with all that could steer a terminal shown as an escape, e.g. `\\x1b`; characters of `keep` stay."""
    return "".join(c if c in keep or not _steers(c) else _shown(c) for c in text)


def safe_line(text: str) -> str:
    """As `safe_text`, on one line: line breaks and tabs are shown too."""
    return safe_text(text, keep="")


def _steers(character: str) -> bool:
    # Cc: control characters, ESC and C1 among them. Cs: lone surrogates, which no encoding can write.
    return unicodedata.category(character) in ("Cc", "Cs") or character in LINE_SEPARATORS + BIDIRECTIONAL


def _shown(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
