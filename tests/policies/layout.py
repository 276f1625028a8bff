"""Parts of prompts as tests expect them, and short generations."""

from flare_local.engine.call import Generation
from tests.policies.scripted import says

X = "Question: Who?\nAnswer:"


def d(*texts: str) -> str:
    """Documents as the paper shows them."""
    return "Search results:\n" + "".join(f"[{number}] {text}\n" for number, text in enumerate(texts, start=1))


def r(*texts: str) -> str:
    """Documents as the released program shows them."""
    lines = "".join(f"[{number}]: {text}\n" for number, text in enumerate(texts, start=1))
    return "Search results ranked based on relevance in descending order:\n" + lines


def sure(*pieces: str, stop: str = "boundary") -> Generation:
    """Pieces of which the model is certain."""
    return says(*(value for piece in pieces for value in (piece, 0.95)), stop=stop)
