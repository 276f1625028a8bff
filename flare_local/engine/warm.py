"""Prefixes out of the tree into a snapshot, and back. Both run on the thread that owns the tree."""

from collections.abc import Sequence
from math import ceil

import torch

from flare_local.engine.ledger import Ledger
from flare_local.engine.pool import KVPool
from flare_local.engine.prefix_tree import Node, PrefixTree
from flare_local.engine.slots import Run, slot_ids, split
from flare_local.engine.snapshot import Ids, Snapshot, is_finite, shared_lengths
from flare_local.errors import ModelError, PoolTooSmall


def check_room(prefixes: Sequence[Ids], pool: KVPool) -> None:
    """Raises `PoolTooSmall` where `pool` cannot hold all of them together and one token more."""
    tokens = sum(map(len, prefixes)) - sum(shared_lengths(prefixes))
    if tokens >= pool.slots:
        needed = (tokens + 1) * sum(layer.bytes_per_slot for layer in pool.layers)
        raise PoolTooSmall(
            f"The shared prefixes and one token more need {tokens + 1} slots; the KV pool has {pool.slots}.",
            f"Raise --kv-memory above {ceil(needed / 2**20)}MiB.",
        )


def load(tree: PrefixTree, snapshot: Snapshot, ledger: Ledger) -> int:
    """Puts a snapshot that was checked into the tree, as idle prefixes like any other; says how many tokens are new.

    What is there already stays. Raises `PoolTooSmall` where calls on their way hold too much of the pool.
    """
    held: list[Node] = []  # so that a prefix does not push out the one before it
    new = 0
    try:
        for number, ids in enumerate(snapshot.prefixes):
            node, known = tree.descend(tree.root, ids)
            tree.lock(node)
            held.append(node)
            if known < len(ids):
                held[-1] = _append(tree, node, snapshot, number, known)
                new += len(ids) - known
            ledger.loaded(ids)
    finally:
        for node in held:
            tree.unlock(node)
    return new


def _append(tree: PrefixTree, node: Node, snapshot: Snapshot, number: int, known: int) -> Node:
    pool, ids = tree.pool, snapshot.prefixes[number][known:]
    if len(ids) > pool.free.count + tree.idle:
        raise PoolTooSmall(
            f"{snapshot.path} needs {len(ids)} slots; other calls leave {pool.free.count + tree.idle}.",
            "Load it before the first question, or raise --kv-memory.",
        )
    tree.evict(len(ids) - pool.free.count)
    context = tree.runs(node)
    slots = pool.allocate(len(ids), context[-1][0] + context[-1][1] - 1 if context else None)
    try:
        snapshot.copy(number, known, slots, pool)
    except BaseException:
        pool.release(slots)
        raise
    return tree.extend(node, ids, slots, [None] * len(ids), warm=True)


def collect(tree: PrefixTree, prefixes: Sequence[Ids]) -> dict[str, torch.Tensor]:
    """The tensors of a snapshot of `prefixes`, copied out of the pool; see `engine.snapshot`.

    Raises `PoolTooSmall` where one of them is not in the tree any more, `ModelError` where K or V are no numbers.
    """
    pool = tree.pool
    tensors: dict[str, torch.Tensor] = {}
    for number, (ids, shared) in enumerate(zip(prefixes, shared_lengths(prefixes), strict=True)):
        node, known = tree.descend(tree.root, ids)
        if known < len(ids):
            raise PoolTooSmall("Other calls pushed a shared prefix out of the pool.", "Raise --kv-memory.")
        _, own = split(tree.runs(node), shared)
        tensors[f"tokens.{number}"] = torch.tensor(ids, dtype=torch.int64)
        for layer, (keys, values) in enumerate(zip(pool.keys, pool.values, strict=True)):
            tensors[f"keys.{number}.{layer}"] = _gathered(keys, own)
            tensors[f"values.{number}.{layer}"] = _gathered(values, own)
    if not all(is_finite(tensor) for tensor in tensors.values()):
        raise ModelError("The model's keys or values are not all finite numbers.", "Use --dtype float32.")
    return tensors


def _gathered(buffer: torch.Tensor, runs: Sequence[Run]) -> torch.Tensor:
    """`[heads, slots of runs, width]` on the host."""
    return buffer.index_select(1, torch.tensor(slot_ids(runs), device=buffer.device)).cpu()
