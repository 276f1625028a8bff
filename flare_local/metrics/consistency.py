"""Factual consistency of a summary with its reference, by a UniEval model: a T5 that answers yes or no."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from flare_local.engine.quiet import quiet_transformers
from flare_local.engine.sentence import sentences
from flare_local.errors import ModelError

MOST_TOKENS = 1024  # of question, claim and document
AT_ONCE = 8  # claims in one forward
QUESTION = "question: Is this claim consistent with the document?"


class Consistency:
    """UniEval's dimension "consistency" of its task "fact": P(Yes) / (P(Yes) + P(No)), a mean over sentences."""

    def __init__(self, model: Any, tokenizer: Any) -> None:
        self._model = model.eval()
        self._tokenizer = tokenizer
        self._yes, self._no = (tokenizer(word)["input_ids"][0] for word in ("Yes", "No"))

    @classmethod
    def load(cls, folder: Path) -> "Consistency":
        """Raises `ModelError` where the folder holds no such model."""
        if not folder.is_dir():
            raise ModelError(f"The UniEval model {folder} is not a folder.", "Give one with config.json and weights.")
        from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

        try:
            with quiet_transformers():
                model = AutoModelForSeq2SeqLM.from_pretrained(folder, local_files_only=True)
                tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
        except (OSError, ValueError, KeyError, ImportError) as error:
            what = " ".join(str(error).split())[:200]
            raise ModelError(f"The UniEval model {folder} cannot be loaded: {what}") from None
        return cls(model, tokenizer)

    def score(self, predicted: str, document: str) -> float:
        """From 0 to 1; 0 for a prediction without a sentence."""
        claims = sentences(predicted)
        parts = [claims[first : first + AT_ONCE] for first in range(0, len(claims), AT_ONCE)]
        each = [score for part in parts for score in self._scores(part, document)]
        return sum(each) / len(each) if each else 0.0

    def _scores(self, claims: Sequence[str], document: str) -> list[float]:
        import torch

        asked = [f"{QUESTION} </s> claim: {claim} </s> document: {document}" for claim in claims]
        inputs = self._tokenizer(asked, truncation=True, max_length=MOST_TOKENS, padding=True, return_tensors="pt")
        start = torch.full((len(claims), 1), self._model.config.decoder_start_token_id)
        with torch.inference_mode():
            logits = self._model(**inputs, decoder_input_ids=start).logits[:, -1].double()
        chances: list[float] = torch.sigmoid(logits[:, self._yes] - logits[:, self._no]).tolist()
        return chances
