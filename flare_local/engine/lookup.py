"""What may come next, read off what is there: the rest of a rejected draft, and runs of tokens seen before."""

from collections.abc import Sequence

PAIR, TRIPLE = 2, 3  # tokens that must agree: in the draft, where the same is about to be said, two are enough


class Lookup:
    """Proposals for one call, from its draft first, then from its own sequence: exemplars, documents, question, answer.

    Proposals are verified by the forward that runs them, so a bad one costs a row and changes nothing.
    """

    def __init__(self, draft: tuple[int, ...]) -> None:
        self._draft = draft
        self._in_draft = {draft[end - PAIR : end]: end for end in range(len(draft) - 1, PAIR - 1, -1)}
        self._in_sequence: dict[tuple[int, ...], int] = {}  # three tokens -> where their latest occurrence ends
        self._read = TRIPLE

    def after(self, ids: Sequence[int], count: int) -> list[int]:
        """At most `count` tokens that followed the last tokens of `ids` elsewhere. `ids` only grows between calls."""
        for end in range(self._read, len(ids)):
            self._in_sequence[tuple(ids[end - TRIPLE : end])] = end
        self._read = max(self._read, len(ids))
        if count <= 0:
            return []
        if at := self._in_draft.get(tuple(ids[-PAIR:])):
            return list(self._draft[at : at + count])
        if at := self._in_sequence.get(tuple(ids[-TRIPLE:])):
            return list(ids[at : at + count])
        return []
