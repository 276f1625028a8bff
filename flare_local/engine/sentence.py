"""Where a unit of output ends: after a sentence, a paragraph, a number of tokens."""

import re
from functools import lru_cache
from typing import Any

from flare_local.engine.call import Paragraph, Sentence, Until

# A Punkt boundary is final once one complete word follows it; text that comes later cannot move it.
_COMPLETE_WORD = re.compile(r"\s+\S+\s")
_MAY_END = re.compile(r"[.?!]")  # Punkt's sentence-ending characters
_LINE_END = re.compile(r"\S[^\S\n]*\n")


def final_cut(text: str, until: Until) -> int | None:
    """Where the first unit of a finished `text` ends, in characters; None where nothing is to be cut off.

    Source: released program for sentences (the first Punkt sentence that ends at least `min_chars` into the text),
    paper section 3.2.1 for other units.
    """
    end = None
    if isinstance(until, Sentence):
        end = _sentence_end(text, until)
    elif isinstance(until, Paragraph) and (line := _LINE_END.search(text)):
        end = line.end() - 1
    return end if end is not None and end < len(text) else None


def certain_cut(text: str, until: Until) -> int | None:
    """As `final_cut`, but only once no further text can change it; None means: generate on."""
    if isinstance(until, Sentence) and not _MAY_END.search(text):
        return None
    end = final_cut(text, until)
    if end is None or isinstance(until, Paragraph) or _COMPLETE_WORD.match(text, end):
        return end
    return None


def sentences(text: str) -> list[str]:
    """`text` in sentences, by Punkt's English parameters (as `nltk.sent_tokenize` does it)."""
    return [text[begin:end] for begin, end in _punkt(True).span_tokenize(text)]


def _sentence_end(text: str, until: Sentence) -> int | None:
    spans = _punkt(until.trained).span_tokenize(text)
    return next((end for _, end in spans if end >= until.min_chars), None)


@lru_cache
def _punkt(trained: bool) -> Any:
    from nltk.tokenize.punkt import PunktParameters, PunktSentenceTokenizer

    if not trained:
        return PunktSentenceTokenizer()
    import punkt

    english = punkt.load_model("english")
    parameters = PunktParameters()
    parameters.abbrev_types = set(english.abbrev_types)
    parameters.sent_starters = set(english.sent_starters)
    parameters.collocations = {(first, second) for first, second in english.collocations}
    parameters.ortho_context.update(dict(english.ortho_context))
    return PunktSentenceTokenizer(parameters)
