"""An extractive QA model that reads answers off a text, as SQuAD 2.0's evaluation does (for ASQA's Disambig-F1)."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flare_local.engine.quiet import quiet_transformers
from flare_local.errors import ModelError

# Of ASQA's script around Hugging Face's run_qa.py, and that program's defaults.
MOST_TOKENS = 384
STRIDE = 128
BEST = 20
MOST_ANSWER_TOKENS = 30
AT_ONCE = 8  # windows in one forward


@dataclass(frozen=True)
class Span:
    """A part of the text and how well it answers."""

    text: str
    score: float  # logit of its begin plus logit of its end


class QaModel:
    """A model of the class `AutoModelForQuestionAnswering` that was trained to say that a text has no answer."""

    def __init__(self, model: Any, tokenizer: Any) -> None:
        self._model = model.eval()
        self._tokenizer = tokenizer
        longest = getattr(model.config, "max_position_embeddings", MOST_TOKENS)
        self._most = min(MOST_TOKENS, longest - 2)  # RoBERTa keeps two positions back
        self._stride = min(STRIDE, self._most // 4)

    @classmethod
    def load(cls, folder: Path) -> "QaModel":
        """Raises `ModelError` where the folder holds no such model."""
        if not folder.is_dir():
            raise ModelError(f"The QA model {folder} is not a folder.", "Give one with config.json and weights.")
        from transformers import AutoConfig, AutoModelForQuestionAnswering, AutoTokenizer

        try:
            with quiet_transformers():
                config = AutoConfig.from_pretrained(folder, local_files_only=True)
                if not any("QuestionAnswering" in name for name in config.architectures or ()):
                    raise ModelError(f"{folder} holds {config.architectures}, no QA model.", "Give one for SQuAD 2.0.")
                model = AutoModelForQuestionAnswering.from_pretrained(folder, local_files_only=True)
                tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
        except (OSError, ValueError, KeyError, ImportError) as error:
            what = " ".join(str(error).split())[:200]
            raise ModelError(f"The QA model {folder} cannot be loaded: {what}") from None
        if not tokenizer.is_fast:
            raise ModelError(f"{folder} has no fast tokenizer.", "Add tokenizer.json.")
        return cls(model, tokenizer)

    def answers(self, questions: Sequence[str], text: str) -> list[str]:
        """What `text` answers to each question; empty where the model finds that it says nothing."""
        if not text.strip():
            return ["" for _ in questions]
        return [self._answer(question.strip(), text) for question in questions]

    def _answer(self, question: str, text: str) -> str:
        import torch

        windows = self._tokenizer(
            question,
            text,
            truncation="only_second",
            max_length=self._most,
            stride=self._stride,
            return_overflowing_tokens=True,
            return_offsets_mapping=True,
            padding=True,
            return_tensors="pt",
        )
        offsets = windows.pop("offset_mapping").tolist()
        windows.pop("overflow_to_sample_mapping")
        count = len(offsets)
        spans: list[Span] = []
        nothing = float("inf")
        for first in range(0, count, AT_ONCE):
            with torch.inference_mode():
                out = self._model(**{name: value[first : first + AT_ONCE] for name, value in windows.items()})
            for at in range(first, min(first + AT_ONCE, count)):
                begins, ends = out.start_logits[at - first].tolist(), out.end_logits[at - first].tolist()
                inside = [sequence == 1 for sequence in windows.sequence_ids(at)]
                spans += _spans(begins, ends, inside, offsets[at], text)
                nothing = min(nothing, begins[0] + ends[0])
        best = max((span for span in spans if span.text), key=lambda span: span.score, default=None)
        return best.text if best is not None and best.score >= nothing else ""


def _spans(
    begins: list[float], ends: list[float], inside: list[bool], offsets: list[list[int]], text: str
) -> list[Span]:
    """The spans of one window that the best `BEST` begins and ends make."""
    return [
        Span(text[offsets[begin][0] : offsets[end][1]], begins[begin] + ends[end])
        for begin in _best(begins)
        for end in _best(ends)
        if inside[begin] and inside[end] and begin <= end < begin + MOST_ANSWER_TOKENS
    ]


def _best(logits: list[float]) -> list[int]:
    return sorted(range(len(logits)), key=logits.__getitem__, reverse=True)[:BEST]
