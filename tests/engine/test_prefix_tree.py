"""Pool and tree under random use: every prefix found must hold the K and V of exactly its tokens."""

import torch
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from flare_local.engine.pool import KVPool, LayerShape
from flare_local.engine.prefix_tree import Choice, Node, PrefixTree
from flare_local.engine.slots import FreeSlots, Run, joined, size, slot_ids, split

SLOTS = 24
TOKENS = st.lists(st.integers(0, 2), min_size=1, max_size=9)  # few different ids, so that prefixes are shared and split


def small_pool(slots: int = SLOTS) -> KVPool:
    return KVPool([LayerShape(1, 1, 2, torch.float64, torch.device("cpu"))], slots, poison=True)


def fingerprint(prefix: tuple[int, ...]) -> float:
    return float(hash(prefix) % 1_000_003)


def next_token(prefix: tuple[int, ...]) -> int:
    """What the pretended model says after `prefix`."""
    return hash((prefix, "next")) % 3


class PoolAndTree(RuleBasedStateMachine):
    """Calls come, take their prefix, run the rest, hold it for a while, and leave."""

    def __init__(self) -> None:
        super().__init__()
        self.pool = small_pool()
        self.tree = PrefixTree(self.pool)
        self.held: list[tuple[Node, tuple[int, ...]]] = []

    @rule(tokens=TOKENS, rejected=st.integers(0, 3))
    def call(self, tokens: list[int], rejected: int) -> None:
        ids = tuple(tokens)
        node, cached = self.tree.descend(self.tree.root, ids)
        self.check_contents(node, ids[:cached])
        self.tree.lock(node)
        missing = len(ids) - cached + rejected
        if missing > self.pool.free.count + self.tree.idle:
            self.tree.unlock(node)
            return
        self.tree.evict(max(0, missing - self.pool.free.count))
        runs = self.pool.allocate(missing)
        kept, back = split(runs, len(ids) - cached)
        self.write(ids, cached, kept)
        self.pool.release(back)
        choices = [Choice(next_token(ids[: i + 1]), 0.5) for i in range(cached, len(ids))]
        self.held.append((self.tree.extend(node, ids[cached:], kept, choices), ids))

    @rule(tokens=TOKENS)
    def two_calls_run_the_same(self, tokens: list[int]) -> None:
        ids = tuple(tokens)
        node, cached = self.tree.descend(self.tree.root, ids)
        if 2 * (len(ids) - cached) > self.pool.free.count or cached == len(ids):
            return
        ends = []
        self.tree.lock(node)
        self.tree.lock(node)
        for _ in range(2):
            runs = self.pool.allocate(len(ids) - cached)
            self.write(ids, cached, runs)
            ends.append(self.tree.extend(node, ids[cached:], runs, [None] * (len(ids) - cached)))
        assert ends[0] is ends[1]
        self.held += [(end, ids) for end in ends]

    @precondition(lambda self: self.held)
    @rule(data=st.data(), more=TOKENS)
    def a_held_call_goes_on(self, data: st.DataObject, more: list[int]) -> None:
        node, ids = self.held.pop(data.draw(st.integers(0, len(self.held) - 1)))
        longer = (*ids, *more)
        if len(more) > self.pool.free.count:
            self.held.append((node, ids))
            return
        runs = self.pool.allocate(len(more))
        self.write(longer, len(ids), runs)
        self.held.append((self.tree.extend(node, more, runs, [None] * len(more)), longer))

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def leave(self, data: st.DataObject) -> None:
        node, _ = self.held.pop(data.draw(st.integers(0, len(self.held) - 1)))
        self.tree.unlock(node)

    @rule(count=st.integers(1, SLOTS))
    def evict(self, count: int) -> None:
        idle, free = self.tree.idle, self.pool.free.count
        freed = self.tree.evict(count)
        assert freed == min(count, idle)
        assert self.pool.free.count == free + freed

    @invariant()
    def nothing_is_lost_or_shared(self) -> None:
        self.tree.check_integrity()
        self.pool.check_integrity()
        owned = {id(node): node for end, _ in self.held for node in self.tree._path(end)}
        assert self.pool.free.count + self.tree.idle + sum(len(node.tokens) for node in owned.values()) == SLOTS

    @invariant()
    def what_is_held_is_still_there(self) -> None:
        for node, ids in self.held:
            self.check_contents(node, ids)
            if ids:
                walk = list(ids)
                for choice in self.tree.known(node):
                    assert choice.token == next_token(tuple(walk))
                    walk.append(choice.token)

    def write(self, ids: tuple[int, ...], begin: int, runs: list[Run]) -> None:
        for offset, slot in enumerate(slot_ids(runs)):
            self.pool.keys[0][:, slot] = fingerprint(ids[: begin + offset + 1])
            self.pool.values[0][:, slot] = fingerprint(ids[: begin + offset + 1])

    def check_contents(self, node: Node, ids: tuple[int, ...]) -> None:
        slots = slot_ids(self.tree.runs(node))
        assert len(slots) == len(ids)
        for i, slot in enumerate(slots):
            assert self.pool.keys[0][0, slot, 0] == fingerprint(ids[: i + 1])
            assert self.pool.values[0][0, slot, 1] == fingerprint(ids[: i + 1])


PoolAndTree.TestCase.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
TestPoolAndTree = PoolAndTree.TestCase


class FreeSlotsMachine(RuleBasedStateMachine):
    """Slots handed out are disjoint and all come back."""

    def __init__(self) -> None:
        super().__init__()
        self.free = FreeSlots(400)
        self.taken: list[list[Run]] = []

    @rule(count=st.integers(0, 150), after=st.none() | st.integers(0, 399))
    def take(self, count: int, after: int | None) -> None:
        if count <= self.free.count:
            runs = self.free.take(count, after)
            assert size(runs) == count
            self.taken.append(runs)

    @precondition(lambda self: self.taken)
    @rule(data=st.data(), part=st.integers(0, 150))
    def give(self, data: st.DataObject, part: int) -> None:
        runs = self.taken.pop(data.draw(st.integers(0, len(self.taken) - 1)))
        first, rest = split(runs, part)
        self.free.give(first)
        self.taken.append(rest)

    @invariant()
    def every_slot_is_in_one_place(self) -> None:
        slots = sorted(slot_ids([run for runs in self.taken for run in runs] + self.free.runs()))
        assert slots == list(range(400))
        assert joined(self.free.runs()) == self.free.runs()
        assert size(self.free.runs()) == self.free.count


TestFreeSlots = FreeSlotsMachine.TestCase


def test_a_growing_sequence_stays_one_run_beside_another() -> None:
    free = FreeSlots(400)
    first = free.take(50)
    free.take(50)
    for _ in range(60):
        first = joined([*first, *free.take(1, after=first[-1][0] + first[-1][1] - 1)])
    assert len(first) == 1


def test_the_least_recently_used_leaf_is_evicted_first_and_only_as_far_as_needed() -> None:
    pool = small_pool(10)
    tree = PrefixTree(pool)
    for ids in ([1, 2, 3], [4, 5, 6]):
        tree.lock(tree.root)
        tree.unlock(tree.extend(tree.root, ids, pool.allocate(3), [None] * 3))
    node, _ = tree.descend(tree.root, [1, 2, 3])
    tree.lock(node)
    tree.unlock(node)
    tree.evict(2)
    assert tree.descend(tree.root, [1, 2, 3])[1] == 3
    assert tree.descend(tree.root, [4, 5, 6])[1] == 1


def test_a_locked_prefix_is_never_evicted() -> None:
    pool = small_pool(10)
    tree = PrefixTree(pool)
    tree.lock(tree.root)
    tree.extend(tree.root, [1, 2, 3], pool.allocate(3), [None] * 3)
    assert tree.evict(10) == 0
    assert tree.descend(tree.root, [1, 2, 3])[1] == 3
