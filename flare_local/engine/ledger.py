"""What had to be run, and what was run: tries of token ids, kept over the whole life of an engine."""

from collections.abc import Sequence

from flare_local.engine.counters import Counters


class _Trie:
    """A radix trie of id sequences that can tell how much of a sequence it holds, and add the rest."""

    def __init__(self) -> None:
        self._children: dict[int, tuple[tuple[int, ...], _Trie]] = {}

    def match(self, ids: Sequence[int]) -> int:
        """Length of the longest prefix of `ids` that was added."""
        node, done = self, 0
        while done < len(ids) and (edge := node._children.get(ids[done])):
            label, child = edge
            same = _common(label, ids, done)
            done += same
            if same < len(label):
                break
            node = child
        return done

    def add(self, ids: Sequence[int]) -> None:
        """Adds `ids` and all their prefixes."""
        node, done = self, 0
        while done < len(ids):
            edge = node._children.get(ids[done])
            if edge is None:
                node._children[ids[done]] = (tuple(ids[done:]), _Trie())
                return
            label, child = edge
            same = _common(label, ids, done)
            done += same
            if same < len(label):
                upper = _Trie()
                upper._children[label[same]] = (label[same:], child)
                node._children[label[0]] = (label[:same], upper)
                child = upper
            node = child


class Ledger:
    """Splits the tokens run into useful, wasted and recomputed, and counts the floor (design: section 1).

    A token of the trie is useful from the moment on that it has both been run and been called for, whichever comes
    last; so what one call ran past its cut stops being waste when the next call goes on from it.
    """

    def __init__(self) -> None:
        self._called = _Trie()  # prompts, and outputs up to their cut
        self._run = _Trie()  # sequences whose tokens were run and kept, here or before they were loaded
        self._loaded = _Trie()  # prefixes that did not go through the model here

    def ran(self, ids: Sequence[int], begin: int, to: Counters) -> None:
        """Books on `to` that the tokens from `begin` to the end of the sequence `ids` were run and kept."""
        new = max(begin, self._run.match(ids))
        to.recomputed += new - begin
        to.useful += max(0, self._called.match(ids) - new)
        self._run.add(ids)

    def loaded(self, ids: Sequence[int]) -> None:
        """Takes in that K and V of `ids` were loaded: they are no work of this engine, and running them again is."""
        self._run.add(ids)
        self._loaded.add(ids)

    def called(self, ids: Sequence[int], to: Counters) -> None:
        """Books on `to` a finished call: `ids` are its prompt and its output up to the cut."""
        before = self._called.match(ids)
        to.floor += len(ids) - before
        to.useful += max(0, self._run.match(ids) - max(before, self._loaded.match(ids)))
        self._called.add(ids)


def _common(label: tuple[int, ...], ids: Sequence[int], start: int) -> int:
    """How many of `label` equal `ids[start:]`, from the front."""
    most = min(len(label), len(ids) - start)
    if label[:most] == tuple(ids[start : start + most]):
        return most
    return next(i for i in range(most) if label[i] != ids[start + i])
