"""Which slots of the pool are free. Slots are handed out and returned as runs of neighbours."""

from bisect import bisect_left
from collections.abc import Iterable, Sequence

Run = tuple[int, int]  # (first slot, number of slots)

# Slots left free behind the newest branch, so that a sequence that is still growing keeps its next tokens side by side
# with its last ones and attention reads them as one view. One look-ahead of 64 tokens.
GROWING_ROOM = 64


class FreeSlots:
    """The free slots of a pool as sorted, disjoint, non-touching runs.

    Invariant: `count` is the sum of the lengths; two neighbouring runs never touch (they are joined when freed).
    """

    def __init__(self, total: int) -> None:
        self.total = total
        self.count = total
        self._starts: list[int] = [0] if total else []
        self._lengths: dict[int, int] = {0: total} if total else {}

    def take(self, count: int, after: int | None = None) -> list[Run]:
        """Hands out `count` slots in as few runs as it can, first the slots that follow slot `after`.

        The caller makes sure that `count` slots are free.
        """
        assert count <= self.count, (count, self.count)
        runs: list[Run] = []
        if after is not None and after + 1 in self._lengths:
            runs.append(self._cut(after + 1, 0, min(count, self._lengths[after + 1])))
            count -= runs[-1][1]
        while count:
            start, skip = self._place(count)
            runs.append(self._cut(start, skip, min(count, self._lengths[start] - skip)))
            count -= runs[-1][1]
        return joined(runs)

    def give(self, runs: Iterable[Run]) -> None:
        """Takes slots back."""
        for start, length in runs:
            self.count += length
            at = bisect_left(self._starts, start)
            if at < len(self._starts) and self._starts[at] == start + length:
                length += self._lengths.pop(self._starts.pop(at))
            if at and self._starts[at - 1] + self._lengths[self._starts[at - 1]] == start:
                self._lengths[self._starts[at - 1]] += length
            else:
                self._starts.insert(at, start)
                self._lengths[start] = length

    def runs(self) -> list[Run]:
        """All free runs in order of slot."""
        return [(start, self._lengths[start]) for start in self._starts]

    def _place(self, count: int) -> tuple[int, int]:
        """The free run to take from, and how many of its slots to leave in front."""
        start = max(self._starts, key=lambda first: self._lengths[first])
        room = self._lengths[start] - count
        return start, min(GROWING_ROOM, room) if start and room > 0 else 0

    def _cut(self, start: int, skip: int, length: int) -> Run:
        whole = self._lengths.pop(start)
        at = bisect_left(self._starts, start)
        rest = [(start, skip), (start + skip + length, whole - skip - length)]
        keep = [(first, size) for first, size in rest if size]
        self._starts[at : at + 1] = [first for first, _ in keep]
        self._lengths.update(keep)
        self.count -= length
        return start + skip, length


def joined(runs: Sequence[Run]) -> list[Run]:
    """The same slots in the same order, with touching neighbours made one run."""
    out: list[Run] = []
    for start, length in runs:
        if out and out[-1][0] + out[-1][1] == start:
            out[-1] = (out[-1][0], out[-1][1] + length)
        elif length:
            out.append((start, length))
    return out


def split(runs: Sequence[Run], at: int) -> tuple[list[Run], list[Run]]:
    """The first `at` slots and the rest."""
    head: list[Run] = []
    for i, (start, length) in enumerate(runs):
        if at < length:
            if at:
                head.append((start, at))
            return head, [(start + at, length - at), *runs[i + 1 :]]
        head.append((start, length))
        at -= length
    return head, []


def size(runs: Iterable[Run]) -> int:
    """Number of slots."""
    return sum(length for _, length in runs)


def slot_ids(runs: Iterable[Run]) -> list[int]:
    """Every slot, in order."""
    return [slot for start, length in runs for slot in range(start, start + length)]
