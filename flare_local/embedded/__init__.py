"""What the program carries with it: an invented town as corpus, its questions, the small model and the index.

Everything here loads its heavy parts when it is called, so that the command line stays light.
"""

from pathlib import Path
from typing import Any

from flare_local.embedded.index import embedded_index
from flare_local.embedded.model import embedded_model

__all__ = ["EMBEDDED", "embedded_exemplars", "embedded_index", "embedded_model"]

# Rules that go with the embedded exemplars: with two documents a model of this size takes names from the wrong one.
EMBEDDED: dict[str, Any] = {
    "titles": True,
    "top_k": 1,
    "theta": 0.8,
    "beta": 0.4,
    "end_after": "answer is",
    "max_sentences": 6,  # an answer has three; one that has lost its way need not go on for 256 tokens
}


def embedded_exemplars() -> Path:
    """The file of exemplars."""
    return Path(__file__).with_name("exemplars.jsonl")
