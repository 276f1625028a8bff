"""How far the engine's and plain Transformers' probabilities lie from fp32's, on the same tokens."""

from collections.abc import Sequence
from statistics import mean
from typing import Any

import torch

from flare_local.trace.events import Answer


def distances(answers: Sequence[Answer], plain: Any, exact: Any, calls: int) -> tuple[int, float, float]:
    """Over the tokens of the engine's first `calls` calls: how many, and the mean distances of engine and plain model.

    `plain`: the model in the engine's dtype; `exact`: in fp32. Both as Transformers loads them.
    """
    engine_off: list[float] = []
    plain_off: list[float] = []
    for writing in [writing for answer in answers for writing in answer.writings][:calls]:
        reference = _probabilities(exact, writing.prompt, writing.tokens)
        naive = _probabilities(plain, writing.prompt, writing.tokens)
        engine_off += [abs(a - b) for a, b in zip(writing.generation.probabilities, reference, strict=True)]
        plain_off += [abs(a - b) for a, b in zip(naive, reference, strict=True)]
    return len(engine_off), mean(engine_off), mean(plain_off)


def _probabilities(model: Any, prompt: tuple[int, ...], tokens: tuple[int, ...]) -> list[float]:
    if not tokens:
        return []
    with torch.inference_mode():
        logits = model(input_ids=torch.tensor([[*prompt, *tokens]]), logits_to_keep=len(tokens) + 1).logits[0, :-1]
    return [float(row.float().softmax(-1)[token]) for row, token in zip(logits, tokens, strict=True)]
