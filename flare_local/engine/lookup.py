"""What may come next, read off what is there: the rest of a rejected draft, and runs of tokens seen before."""

from collections.abc import Sequence
from typing import NamedTuple

from flare_local.engine.speculation import Source

PAIR, TRIPLE = 2, 3  # tokens that must agree: in the draft, where the same is about to be said, two are enough


class Proposals(NamedTuple):
    """Tokens that may come next, and where they were read."""

    source: Source
    tokens: list[int]


NOTHING = Proposals(Source.DRAFT, [])


class Lookup:
    """Proposals for one call, from its draft first, then from its own sequence: exemplars, documents, question, answer.

    Proposals are verified by the forward that runs them, so a bad one costs a row and changes nothing.
    """

    def __init__(self, draft: tuple[int, ...], sources: frozenset[Source], most: int) -> None:
        """`most`: tokens that are proposed at once where the output has left the draft."""
        self._draft = draft if Source.DRAFT in sources else ()
        tail = draft if Source.TAIL in sources else ()
        self._in_draft = {tail[end - PAIR : end]: end for end in range(len(tail) - 1, PAIR - 1, -1)}
        self._tail = tail
        self._in_sequence: dict[tuple[int, ...], int] = {}  # three tokens -> where their latest occurrence ends
        self._looks = Source.SEEN in sources
        self._most = most
        self._read = TRIPLE

    def after(self, ids: Sequence[int], said: Sequence[int], left: int) -> Proposals:
        """At most `left` tokens that may follow `ids`, whose end is `said`. `ids` only grows between calls."""
        if len(self._draft) > len(said) and self._draft[: len(said)] == tuple(said):
            return Proposals(Source.DRAFT, list(self._draft[len(said) : len(said) + left]))
        count = min(left, self._most)
        if not said or count <= 0:
            return NOTHING
        if at := self._in_draft.get(tuple(ids[-PAIR:])):
            return Proposals(Source.TAIL, list(self._tail[at : at + count]))
        if self._looks:
            self._read_on(ids)
            if at := self._in_sequence.get(tuple(ids[-TRIPLE:])):
                return Proposals(Source.SEEN, list(ids[at : at + count]))
        return NOTHING

    def _read_on(self, ids: Sequence[int]) -> None:
        """Remembers where runs of three end, but not the run at the very end, behind which nothing is known."""
        for end in range(self._read, len(ids)):
            self._in_sequence[tuple(ids[end - TRIPLE : end])] = end
        self._read = max(self._read, len(ids))
