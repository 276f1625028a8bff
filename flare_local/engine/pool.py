"""The pool of K and V: one slot holds what every layer keeps of one token."""

from collections.abc import Iterable
from dataclasses import dataclass

import torch

from flare_local.engine.slots import FreeSlots, Run, size


@dataclass(frozen=True)
class LayerShape:
    """What one attention layer stores, as a probe forward showed it."""

    heads: int  # K/V heads
    key_dim: int
    value_dim: int  # may differ from key_dim
    dtype: torch.dtype
    device: torch.device

    @property
    def bytes_per_slot(self) -> int:
        return self.heads * (self.key_dim + self.value_dim) * self.dtype.itemsize


class KVPool:
    """K and V of `slots` tokens: `keys[layer]` `[heads, slots + 1, key_dim]`, `values[layer]` likewise.

    A token owns one slot, the same in every layer. The last slot, `scratch`, is nobody's. With `poison` (tests) free
    slots hold NaN, so reading one shows.
    """

    def __init__(self, layers: list[LayerShape], slots: int, *, poison: bool = False) -> None:
        self.layers = layers
        self.slots = slots
        self.scratch = slots  # takes K and V of padding
        self.poison = poison
        self.free = FreeSlots(slots)
        self.keys = [self._buffer(layer, layer.key_dim) for layer in layers]
        self.values = [self._buffer(layer, layer.value_dim) for layer in layers]

    def allocate(self, count: int, after: int | None = None) -> list[Run]:
        """`count` slots, next to slot `after` where they are free. The caller has made sure that there are enough."""
        return self.free.take(count, after)

    def release(self, runs: Iterable[Run]) -> None:
        """Takes slots back."""
        runs = list(runs)
        if self.poison:
            for start, length in runs:
                for buffer in self.keys + self.values:
                    buffer[:, start : start + length] = torch.nan
        self.free.give(runs)

    def check_integrity(self) -> None:
        """Asserts that free runs are sorted, disjoint, apart, and (poisoned) hold NaN. For tests."""
        end = -1
        for start, length in self.free.runs():
            assert start > end, "free runs touch or overlap"
            assert length > 0
            end = start + length
            if self.poison:
                assert all(bool(buffer[:, start:end].isnan().all()) for buffer in self.keys + self.values)
        assert end <= self.slots
        assert size(self.free.runs()) == self.free.count

    def _buffer(self, layer: LayerShape, width: int) -> torch.Tensor:
        buffer = torch.empty(layer.heads, self.slots + 1, width, dtype=layer.dtype, device=layer.device)
        return buffer.fill_(torch.nan) if self.poison else buffer
