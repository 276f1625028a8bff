"""How much of the pool was needed at most, and how much it would have been if no call shared a prefix with another."""

from collections.abc import Iterable
from dataclasses import dataclass

from flare_local.engine.pool import KVPool
from flare_local.engine.prefix_tree import PrefixTree
from flare_local.engine.running import Running
from flare_local.engine.slots import size


@dataclass
class PoolUse:
    """Peaks over the life of an engine, in slots, each read before every forward."""

    slots: int  # that the pool has
    in_use: int = 0  # held by calls on their way; a prefix that several of them share counts once
    separate: int = 0  # what the same calls would hold if each had a copy of its own
    held: int = 0  # with any token in them, idle prefixes too

    def note(self, pool: KVPool, tree: PrefixTree, running: Iterable[Running]) -> None:
        """Takes in what is held now, the slots of the forward that is about to run included."""
        held = pool.slots - pool.free.count
        self.held = max(self.held, held)
        self.in_use = max(self.in_use, held - tree.idle)
        self.separate = max(self.separate, sum(each.cached + size(each.slots) for each in running))
