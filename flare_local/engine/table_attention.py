"""Attention over slot tables, by Triton's kernels: what `attention.attend` calls where they were chosen."""

from dataclasses import dataclass, field

import torch
from flare_kernels.kv_write import kv_write
from flare_kernels.slot_attention import slot_attention

from flare_local.engine.packing import Inputs
from flare_local.engine.pool import KVPool


@dataclass
class TableContext:
    """One packed forward over a pool. Nothing here waits for a device."""

    pool: KVPool
    inputs: Inputs
    _moved: dict[torch.device, Inputs] = field(default_factory=dict)

    def attend(
        self,
        layer: int,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        scale: float,
        window: int | None,
        softcap: float | None,
        sinks: torch.Tensor | None,
    ) -> torch.Tensor:
        """Writes K and V into their slots, then every row reads its sequence's slots; see `AttentionContext`."""
        inputs = self._on(key.device)
        keys, values = self.pool.keys[layer], self.pool.values[layer]
        kv_write(_dense(key), _dense(value), keys, values, inputs.write)
        out = slot_attention(
            _dense(query), keys, values, inputs.tables, scale=scale, window=window, softcap=softcap, sinks=sinks
        )
        return out[None]

    def _on(self, device: torch.device) -> Inputs:
        if device == self.inputs.write.device:
            return self.inputs
        if device not in self._moved:
            self._moved[device] = self.inputs.on(device)
        return self._moved[device]


def _dense(heads: torch.Tensor) -> torch.Tensor:
    """Each head's numbers side by side, as kernels read them; hardly any model hands them over otherwise."""
    return heads if heads.stride(-1) == 1 else heads.contiguous()
