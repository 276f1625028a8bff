"""Attention over slots: what the model calls instead of its own, one layer at a time.

In plain torch each part of a plan gives a partial result and its log-sum-exp, and partial results of a row merge
exactly. K and V in the pool are never repeated for grouped-query heads: the group is folded into the rows.
`table_attention` is the other way, by Triton's kernels.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Protocol

import torch

from flare_local.engine.plan import Part, Plan
from flare_local.engine.pool import KVPool, LayerShape

NAME = "flare_local"  # the name under which Transformers finds it

_flash_cpu = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu  # returns the log-sum-exp too


class AttentionContext(Protocol):
    """What a packed forward hands to every layer's attention."""

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
        """Query `[heads, T, dim]`, key and value of the T new tokens `[kv_heads, T, dim]`, `sinks` `[heads]`: stores
        key and value, returns `[1, T, heads, value_dim]`.
        """


# NOTE: not a keyword argument of the forward: some layers (StableLM, Nemotron) do not pass theirs on to attention.
_current: ContextVar[AttentionContext] = ContextVar("flare_local_attention")


@contextmanager
def serving(context: AttentionContext) -> Iterator[None]:
    """Within this block `attend` works for `context`."""
    token = _current.set(context)
    try:
        yield
    finally:
        _current.reset(token)


def attend(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    scaling: float | None = None,
    sliding_window: int | None = None,
    softcap: float | None = None,
    s_aux: torch.Tensor | None = None,
    **_: Any,
) -> tuple[torch.Tensor, None]:
    """The attention interface of Transformers: query `[1, heads, T, dim]`, key and value `[1, kv_heads, T, dim]`,
    result `[1, T, heads, value_dim]`. `s_aux` are attention sinks, one logit a head. Works only inside `serving`.
    """
    scale = query.shape[-1] ** -0.5 if scaling is None else float(scaling)
    layer = int(module.layer_idx)  # type: ignore[arg-type]
    context = _current.get()
    return context.attend(layer, query[0], key[0], value[0], scale, sliding_window, softcap, s_aux), None


@dataclass
class Context:
    """The plain torch way: parts of a plan, merged. `pool` is None in the probe forward."""

    pool: KVPool | None
    plans: dict[torch.device, Plan]
    seen: dict[int, LayerShape]  # filled by the probe forward, by layer

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
        """See `AttentionContext`."""
        plan = self.plans.get(key.device) or self._moved(key.device)
        if self.pool is None:
            self.seen[layer] = LayerShape(key.shape[0], key.shape[-1], value.shape[-1], key.dtype, key.device)
        else:
            keys, values = self.pool.keys[layer], self.pool.values[layer]
            keys[:, plan.write] = key
            values[:, plan.write] = value
        total = _Merge(query, value)
        for part in plan.parts(window):
            if part.own:
                part_key, part_value = key[:, part.keys], value[:, part.keys]
            else:
                part_key, part_value = _take(keys, part.keys), _take(values, part.keys)
            total.add(part, *_partial(_take(query, part.rows), part_key, part_value, part, scale, softcap))
        return total.result(sinks)

    def _moved(self, device: torch.device) -> Plan:
        """The plan for another device, made on the first layer that lives there."""
        plan = Plan(next(iter(self.plans.values())).stretches, device)
        self.plans[device] = plan
        return plan


def _take(tensor: torch.Tensor, which: slice | torch.Tensor) -> torch.Tensor:
    """Of `[heads, n, dim]` some n: a view for a slice, a copy for an index."""
    return tensor[:, which] if isinstance(which, slice) else tensor.index_select(1, which)


def _partial(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, part: Part, scale: float, softcap: float | None
) -> tuple[torch.Tensor, torch.Tensor]:
    """Attention of query `[heads, R, dim]` over key `[kv_heads, S, dim]`.

    Returns the result `[heads, R, value_dim]` and the log-sum-exp `[heads, R]`.
    """
    heads, rows, _ = query.shape
    group = heads // key.shape[0]
    fused = query.device.type == "cpu" and softcap is None and part.mask is None and key.shape[-1] == value.shape[-1]
    if fused and part.causal:
        # Only new tokens, so repeating them is cheap, and the causal kernel skips half of the work.
        key, value = key.repeat_interleave(group, 0), value.repeat_interleave(group, 0)
        out, lse = _flash_cpu(query[None], key[None], value[None], 0.0, True, scale=scale)
        return out[0], lse[0]
    folded = query.reshape(key.shape[0], group * rows, -1)
    if fused:
        out, lse = _flash_cpu(folded[None], key[None], value[None], scale=scale)
        out, lse = out[0], lse[0]
    else:
        seen = part.mask
        if part.causal:
            seen = torch.ones(rows, rows, dtype=torch.bool, device=query.device).tril()
        out, lse = _plain(folded, key, value, None if seen is None else seen.repeat(group, 1), scale, softcap)
    return out.reshape(heads, rows, -1), lse.reshape(heads, rows)


def _plain(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    seen: torch.Tensor | None,
    scale: float,
    softcap: float | None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Plain torch, on any device, in fp32 or wider: soft caps, masks, and K and V of different widths.

    A row that sees no key gets log-sum-exp -inf and result 0.
    """
    wide = torch.promote_types(query.dtype, torch.float32)
    scores = query.to(wide) @ key.to(wide).transpose(-1, -2) * scale
    if softcap is not None:
        scores = softcap * torch.tanh(scores / softcap)
    if seen is not None:
        scores = scores.masked_fill(~seen, -torch.inf)
    lse = scores.logsumexp(-1)
    weights = (scores - lse.nan_to_num(neginf=0.0)[..., None]).exp()
    return weights @ value.to(wide), lse


class _Merge:
    """Partial results of T rows, merged by their log-sum-exp. Sums are kept in fp32 or wider."""

    def __init__(self, query: torch.Tensor, value: torch.Tensor) -> None:
        wide = torch.promote_types(query.dtype, torch.float32)
        self._dtype = query.dtype
        self._out = query.new_empty(query.shape[0], query.shape[1], value.shape[-1], dtype=wide)
        self._lse = query.new_empty(query.shape[0], query.shape[1], dtype=wide)

    def add(self, part: Part, out: torch.Tensor, lse: torch.Tensor) -> None:
        """Adds one part's result."""
        out, lse = out.to(self._out.dtype), lse.to(self._lse.dtype)
        if not part.first:
            old_out, old_lse = _take(self._out, part.rows), _take(self._lse, part.rows)
            total = torch.logaddexp(old_lse, lse)
            out = old_out * (old_lse - total).exp()[..., None] + out * (lse - total).exp()[..., None]
            lse = total
        self._out[:, part.rows] = out
        self._lse[:, part.rows] = lse

    def result(self, sinks: torch.Tensor | None) -> torch.Tensor:
        """`[1, T, heads, value_dim]` in the model's dtype; sinks enter the denominator only, here at the end."""
        out = self._out
        if sinks is not None:
            sink = sinks.to(self._lse.dtype).reshape(-1, 1)
            out = out * (self._lse - torch.logaddexp(self._lse, sink)).exp()[..., None]
        return out.to(self._dtype).transpose(0, 1)[None].contiguous()  # some models take a view of it
