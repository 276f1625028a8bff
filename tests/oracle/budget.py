"""What of a prompt goes where the model's context has no room for it (docs/prompts.md, "A prompt that is too long")."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from tests.oracle.prompt import Passage, Shots, one_line

Length = Callable[[Shots, Sequence[Passage]], int]  # tokens of a prompt without what is written of the answer
LeftOut = tuple[int, int, int]  # examples, passages, and words of the last passage that stays


class Refused(Exception):
    """A question that cannot be answered: a prompt does not fit, or nothing of it may go."""


def fit(
    length: Length, shots: Shots, passages: Sequence[Passage], room: int, may_cut: bool
) -> tuple[Shots, list[Passage], LeftOut | None]:
    """What stays where a prompt may have `room` tokens, and what goes. Raises `Refused`."""
    shown = [passage for passage in passages if one_line(passage.text)]
    if length(shots, shown) <= room:
        return shots, shown, None
    bare = [gone for gone in range(count(shots) + 1) if length(without_last(shots, gone), []) <= room]
    if not bare or not may_cut:
        raise Refused
    fewer = without_last(shots, bare[0])
    whole = max(d for d in range(len(shown) + 1) if length(fewer, shown[:d]) <= room)
    kept, words = shown[:whole], 0
    if whole < len(shown):
        ends = [word.end() for word in re.finditer(r"\S+", shown[whole].text)]
        shorter = [replace(shown[whole], text=shown[whole].text[:end]) for end in ends]
        fitting = [n for n, passage in enumerate(shorter, 1) if length(fewer, [*kept, passage]) <= room]
        if fitting:
            kept, words = [*kept, shorter[fitting[-1] - 1]], len(ends) - fitting[-1]
    return fewer, kept, (bare[0], len(shown) - len(kept), words)


def count(shots: Shots) -> int:
    """Examples of all skills."""
    return len(shots.examples) + (count(shots.before) if shots.before else 0)


def without_last(shots: Shots, gone: int) -> Shots:
    """`shots` without so many examples: the task's own go first, the last of them before the others."""
    own = min(gone, len(shots.examples))
    before = without_last(shots.before, gone - own) if shots.before else None
    return replace(shots, examples=shots.examples[: len(shots.examples) - own], before=before)
