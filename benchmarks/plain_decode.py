"""Seconds a token of a plain decode, for every row: a peer that is slower here than `generate` is measured wrongly."""

import asyncio
from collections.abc import Callable, Sequence
from statistics import median
from time import perf_counter

from flare_local.engine.call import Call, Generation, LanguageModel

Prompt = tuple[int, ...]

PROMPTS = 8  # four pairs, of which the first warms up


def prompts_of(lm: LanguageModel, texts: Sequence[str]) -> list[Prompt]:
    """One prompt a text, all of the same length: that of the shortest."""
    ids = [lm.codec.encode(text) for text in texts]
    length = min(map(len, ids))
    return [lm.bos + each[:length] for each in ids]


def decode_seconds(lm: LanguageModel, pair: tuple[Prompt, Prompt], tokens: int) -> float | None:
    """Seconds a token after the first: `tokens` behind one prompt less a single one behind another of the same length.

    None where the model ended its text at once.
    """
    first, _ = timed(lm, Call(pair[0], max_new_tokens=1, stop=()))
    whole, generation = timed(lm, Call(pair[1], max_new_tokens=tokens, stop=()))
    after = len(generation.tokens) - 1
    return (whole - first) / after if after > 0 else None


def timed(lm: LanguageModel, call: Call) -> tuple[float, Generation]:
    """Seconds, and what came out."""
    began = perf_counter()
    generation = asyncio.run(lm.generate(call))
    return perf_counter() - began, generation


def seconds_per_token(
    rows: dict[str, LanguageModel],
    prompts: Sequence[Prompt],
    tokens: int,
    give_up: Callable[[str, Exception], None],
) -> dict[str, float]:
    """The median over pairs of prompts, row after row for each pair; the first pair only warms up.

    A row that fails is handed to `give_up` and not asked again.
    """
    found: dict[str, list[float]] = {name: [] for name in rows}
    for at in range(0, len(prompts) - 1, 2):
        for name in list(found):
            try:
                seconds = decode_seconds(rows[name], (prompts[at], prompts[at + 1]), tokens)
            except Exception as error:
                del found[name]
                give_up(name, error)
                continue
            if at > 0 and seconds is not None:
                found[name].append(seconds)
    return {name: median(each) for name, each in found.items() if each}
