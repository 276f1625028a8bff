"""The least that must be run, counted in a trie of its own from the list of calls; tokens run, counted at the model."""

from collections.abc import Iterable, Sequence
from typing import Any


class TokenTrie:
    """Every prefix of every call once. Starts empty and is kept over a whole run."""

    def __init__(self) -> None:
        self.root: dict[int, Any] = {}

    def add(self, ids: Iterable[int]) -> int:
        """Adds a path; how many nodes are new."""
        node, new = self.root, 0
        for token in ids:
            if token not in node:
                node[token] = {}
                new += 1
            node = node[token]
        return new

    def add_calls(self, calls: Iterable[tuple[Sequence[int], Sequence[int]]]) -> int:
        """The floor that calls (prompt ids, output ids up to the cut) add."""
        return sum(self.add([*prompt, *output]) for prompt, output in calls)


class ForwardMeter:
    """Counts what goes through a model: one hook on its forward, nothing of the engine."""

    def __init__(self, model: Any) -> None:
        self.tokens = 0
        self.forwards = 0
        self._handle = model.register_forward_pre_hook(self._count, with_kwargs=True)

    def _count(self, _: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        ids = kwargs["input_ids"] if "input_ids" in kwargs else args[0]
        self.tokens += ids.numel()
        self.forwards += 1

    def close(self) -> None:
        self._handle.remove()
