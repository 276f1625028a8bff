"""From token ids to slots: a radix tree that owns every slot with a token in it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from flare_local.engine.pool import KVPool
from flare_local.engine.slots import Run, joined, size, slot_ids, split


@dataclass(frozen=True)
class Choice:
    """What the model itself would say next: the arg max of the unbiased logits and its probability."""

    token: int
    probability: float


class Node:
    """A stretch of tokens. Invariants: `size(runs) == len(tokens)`; a parent has at least the locks of its children."""

    __slots__ = ("children", "choices", "locks", "parent", "runs", "tokens", "used", "warm")

    def __init__(self, parent: "Node | None", tokens: list[int], runs: list[Run]) -> None:
        self.parent = parent
        self.tokens = tokens
        self.runs = runs
        self.children: dict[int, Node] = {}  # by first token
        self.choices: dict[int, Choice] = {}  # offset in tokens -> what follows that token, where it was read
        self.locks = 0  # calls whose sequence ends in this node or below
        self.used = 0  # tick of the last use
        self.warm = 0  # of the first tokens: whose K and V were loaded, not computed here


class PrefixTree:
    """All cached prefixes. A position is always the end of a node: nodes are split where a sequence ends or branches.

    `idle` counts the tokens in nodes without a lock: what `evict` could free. Only safe from one thread.
    """

    def __init__(self, pool: KVPool) -> None:
        self.pool = pool
        self.root = Node(None, [], [])
        self.idle = 0
        self.splits = 0  # for the tests' meter
        self._tick = 0

    def descend(self, node: Node, tokens: Sequence[int]) -> tuple[Node, int]:
        """The longest cached prefix of `tokens` below `node`: the node at its end, and its length."""
        done = 0
        while done < len(tokens) and (child := node.children.get(tokens[done])):
            same = _common_prefix(child.tokens, tokens, done)
            done += same
            if same < len(child.tokens):
                return self._split(child, same), done
            node = child
        return node, done

    def lock(self, node: Node) -> None:
        """Keeps the path to `node` from being evicted, and marks it used."""
        self._tick += 1
        for step in self._path(node):
            if step.locks == 0:
                self.idle -= len(step.tokens)
            step.locks += 1
            step.used = self._tick

    def unlock(self, node: Node) -> None:
        """Takes one lock back."""
        for step in self._path(node):
            assert step.locks > 0
            step.locks -= 1
            if step.locks == 0:
                self.idle += len(step.tokens)

    def extend(
        self,
        node: Node,
        tokens: Sequence[int],
        runs: Sequence[Run],
        choices: Sequence[Choice | None],
        *,
        warm: bool = False,
    ) -> Node:
        """Adds `tokens`, whose K and V are in `runs`, behind `node`; the caller's lock moves to the node returned.

        `choices[i]` is what the model says after `tokens[i]`, where it was read. Where another call has added the same
        tokens meanwhile, the slots given here go back. `warm`: K and V were loaded, not computed here.
        """
        end, known = self.descend(node, tokens)
        twice, fresh = split(runs, known)
        self.pool.release(twice)
        if known < len(tokens):
            grow = end is node and node.locks == 1 and not warm
            end = self._append(end, list(tokens[known:]), fresh, grow=grow)
            end.warm = len(end.tokens) if warm else end.warm
        self.lock(end)
        self.unlock(node)
        self._remember(end, choices)
        return end

    def known(self, node: Node) -> Iterator[Choice]:
        """What the model says after `node`, then after that, as far as it was read before."""
        offset = len(node.tokens)
        while choice := node.choices.get(offset - 1):
            yield choice
            if offset < len(node.tokens):
                if node.tokens[offset] != choice.token:
                    return
                offset += 1
            elif child := node.children.get(choice.token):
                node, offset = child, 1
            else:
                return

    def remember(self, node: Node, choice: Choice) -> None:
        """Notes what the model says after the last token of `node`."""
        self._remember(node, [choice])

    def runs(self, node: Node) -> list[Run]:
        """The slots of the whole sequence that ends at `node`, in order of position."""
        nodes = [*self._path(node)][::-1]
        return joined([run for step in nodes for run in step.runs])

    def warm(self, node: Node) -> int:
        """How many tokens of the sequence that ends at `node` were loaded and not computed here."""
        return sum(step.warm for step in self._path(node))

    def evict(self, count: int) -> int:
        """Frees at least `count` slots of the least recently used leaves, the end of a leaf first; says how many.

        Frees less only where all that is left is locked.
        """
        freed = 0
        leaves = {id(leaf): leaf for leaf in self._leaves()}
        while freed < count and leaves:
            leaf = min(leaves.values(), key=lambda each: each.used)
            keep = max(0, len(leaf.tokens) - (count - freed))
            freed += self._trim(leaf, keep)
            if keep == 0:
                del leaves[id(leaf)]
                parent = leaf.parent
                assert parent is not None
                del parent.children[leaf.tokens[0]]
                if parent.parent is not None and not parent.children and parent.locks == 0:
                    leaves[id(parent)] = parent
        return freed

    def check_integrity(self) -> None:
        """Asserts that every slot is owned exactly once and that the counts hold. For tests."""
        seen: list[int] = []
        idle = 0
        for node in self._nodes():
            assert size(node.runs) == len(node.tokens)
            assert all(node.children[child.tokens[0]] is child for child in node.children.values())
            assert all(child.parent is node for child in node.children.values())
            assert node is self.root or node.tokens
            assert node is self.root or node.locks >= sum(child.locks for child in node.children.values())
            assert all(0 <= offset < len(node.tokens) for offset in node.choices)
            assert 0 <= node.warm <= len(node.tokens)
            seen += slot_ids(node.runs)
            idle += len(node.tokens) if node.locks == 0 else 0
        free = slot_ids(self.pool.free.runs())
        assert len(seen) == len(set(seen)), "a slot is owned twice"
        assert not set(seen) & set(free), "a slot is owned and free"
        assert idle == self.idle

    def _append(self, node: Node, tokens: list[int], runs: list[Run], *, grow: bool) -> Node:
        if grow and node is not self.root and not node.children:
            node.tokens += tokens
            node.runs = joined(node.runs + runs)
            return node
        child = Node(node, tokens, runs)
        node.children[tokens[0]] = child
        self.idle += len(tokens)
        return child

    def _remember(self, node: Node, choices: Sequence[Choice | None]) -> None:
        """Notes `choices` for the last `len(choices)` tokens of the sequence that ends at `node`."""
        offset = len(node.tokens)
        for choice in reversed(choices):
            while offset == 0 and node.parent is not None:
                node = node.parent
                offset = len(node.tokens)
            offset -= 1
            if choice is not None and offset >= 0:
                node.choices[offset] = choice

    def _split(self, node: Node, at: int) -> Node:
        """Makes the first `at` tokens of `node` a node above it. Positions at the end of `node` stay valid."""
        self.splits += 1
        parent = node.parent
        assert parent is not None
        head, tail = split(node.runs, at)
        upper = Node(parent, node.tokens[:at], head)
        upper.locks, upper.used = node.locks, node.used
        upper.warm = min(at, node.warm)
        node.warm -= upper.warm
        upper.choices = {offset: choice for offset, choice in node.choices.items() if offset < at}
        parent.children[upper.tokens[0]] = upper
        node.tokens, node.runs, node.parent = node.tokens[at:], tail, upper
        node.choices = {offset - at: choice for offset, choice in node.choices.items() if offset >= at}
        upper.children = {node.tokens[0]: node}
        return upper

    def _trim(self, leaf: Node, keep: int) -> int:
        kept, gone = split(leaf.runs, keep)
        self.pool.release(gone)
        freed = size(gone)
        self.idle -= freed
        if keep:
            leaf.tokens, leaf.runs, leaf.warm = leaf.tokens[:keep], kept, min(keep, leaf.warm)
            leaf.choices = {offset: choice for offset, choice in leaf.choices.items() if offset < keep}
        return freed

    def _leaves(self) -> list[Node]:
        return [node for node in self._nodes() if node is not self.root and not node.children and node.locks == 0]

    def _nodes(self) -> Iterator[Node]:
        stack = [self.root]
        while stack:
            node = stack.pop()
            yield node
            stack += node.children.values()

    def _path(self, node: Node) -> Iterator[Node]:
        """`node` and what lies above it, without the root."""
        while node.parent is not None:
            yield node
            node = node.parent


def _common_prefix(tokens: list[int], others: Sequence[int], start: int) -> int:
    """How many of `tokens` equal `others[start:]`, from the front."""
    most = min(len(tokens), len(others) - start)
    if tokens[:most] == list(others[start : start + most]):
        return most
    return next(i for i in range(most) if tokens[i] != others[start + i])
