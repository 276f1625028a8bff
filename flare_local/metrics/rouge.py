"""ROUGE of long answers and summaries, by Google's `rouge_score` (an optional extra)."""

from collections.abc import Sequence
from typing import Any

from flare_local.engine.sentence import sentences
from flare_local.errors import UsageError


class Rouge:
    """F-measures from 0 to 1."""

    def __init__(self) -> None:
        """Raises `UsageError` where the package is not installed."""
        try:
            from rouge_score import rouge_scorer
        except ImportError:
            raise UsageError("rouge_score is not installed.", 'pip install "flare-local[eval]".') from None
        self._long = rouge_scorer.RougeScorer(["rougeLsum"], use_stemmer=True)
        self._summary = rouge_scorer.RougeScorer(["rougeL"], use_stemmer=False)

    def long_answer(self, predicted: str, references: Sequence[str]) -> float:
        """ROUGE-Lsum with stemmer, lower case, a sentence a line; the best reference (ASQA's scoring.py)."""
        text = _lines(predicted)
        return max(_f(self._long, _lines(reference), text, "rougeLsum") for reference in references)

    def summary(self, predicted: str, references: Sequence[str]) -> float:
        """ROUGE-L without stemmer (the released program, by the package `evaluate`); the best reference."""
        return max(_f(self._summary, reference, predicted, "rougeL") for reference in references)


def _lines(text: str) -> str:
    return "\n".join(sentences(text.lower()))


def _f(scorer: Any, reference: str, predicted: str, name: str) -> float:
    return float(scorer.score(reference, predicted)[name].fmeasure)
