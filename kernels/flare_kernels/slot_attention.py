"""Attention of packed rows over slot tables: prefill chunks, proposals and single tokens of several sequences.

K and V of a sequence lie anywhere in the pool; its slot table says where. Rows come in blocks of neighbours of one
sequence; the heads that share a K/V head are folded into the rows. The keys are split, each split gives a partial
result with its log-sum-exp, and a second kernel merges them.
"""

from dataclasses import dataclass

import torch
import triton
import triton.language as tl

from flare_kernels.runtime import is_interpreted
from flare_kernels.tables import Tables

NO_WINDOW = 1 << 30  # tokens; longer than any context
MOST_FOLDED = 8  # heads of a group that one program takes; larger groups are cut
DTYPES = (torch.float32, torch.bfloat16, torch.float16)


@dataclass(frozen=True)
class Launch:
    """How the first kernel is launched for one shape; what is compiled ahead of time is what runs."""

    constants: dict[str, int | bool]
    num_warps: int
    num_stages: int


def launch(
    heads: int,
    kv_heads: int,
    key_dim: int,
    value_dim: int,
    dtype: torch.dtype,
    block_queries: int,
    rows: int,
    longest: int,
) -> Launch:
    """The variant for these sizes. Few rows take short splits, so that one sequence fills the GPU; the number of splits
    is bounded, as each keeps a result in memory."""
    group = heads // kv_heads
    width = max(16, triton.next_power_of_2(max(key_dim, value_dim)))
    exact = dtype == torch.float32  # its products run without tensor cores, on rows held in registers
    most_rows = 16 if exact else min(128, 16384 // width)
    folded = max(1, min(group, MOST_FOLDED, most_rows // block_queries))
    block_rows = max(16, triton.next_power_of_2(block_queries * folded))
    shortest, most = (256, 64) if rows <= 64 else (1024, 16)
    constants: dict[str, int | bool] = {
        "HEADS": heads,
        "GROUP": group,
        "FOLDED": folded,
        "PARTS": -(-group // folded),
        "KEY_DIM": key_dim,
        "KEY_WIDTH": max(16, triton.next_power_of_2(key_dim)),
        "VALUE_DIM": value_dim,
        "VALUE_WIDTH": max(16, triton.next_power_of_2(value_dim)),
        "BLOCK_QUERIES": block_queries,
        "BLOCK_ROWS": block_rows,
        "BLOCK_KEYS": 16 if exact else 32 if width > 128 else 64,
        "SPLIT": max(shortest, triton.next_power_of_2(longest) // most),
        "INTERPRETED": is_interpreted(),
    }
    return Launch(constants, num_warps=8 if block_rows * width >= 8192 else 4, num_stages=1 if exact else 2)


@triton.jit(do_not_specialize=["pool_slots", "rows", "window"])  # one variant for all their values
def partial_kernel(
    query,  # [heads, rows, KEY_DIM] with any strides of the first two
    keys,  # [kv_heads, pool_slots, KEY_DIM]
    values,  # [kv_heads, pool_slots, VALUE_DIM]
    slots,
    blocks,
    out,  # fp32 [splits, rows, heads, VALUE_DIM]
    lse,  # fp32 [splits, rows, heads]
    query_head_stride,
    query_row_stride,
    pool_slots,
    rows,
    window,
    scale,
    softcap,
    SOFTCAP: tl.constexpr,
    HEADS: tl.constexpr,
    GROUP: tl.constexpr,
    FOLDED: tl.constexpr,
    PARTS: tl.constexpr,
    KEY_DIM: tl.constexpr,
    KEY_WIDTH: tl.constexpr,
    VALUE_DIM: tl.constexpr,
    VALUE_WIDTH: tl.constexpr,
    BLOCK_QUERIES: tl.constexpr,
    BLOCK_ROWS: tl.constexpr,
    BLOCK_KEYS: tl.constexpr,
    SPLIT: tl.constexpr,
    INTERPRETED: tl.constexpr,  # Triton 3.7 then multiplies bfloat16 as if it were integers: widened first
):
    """One block of rows, the heads of one K/V head (or a part of them), one split of the keys."""
    block = tl.program_id(0)
    key_head = tl.program_id(1) // PARTS
    split = tl.program_id(2)
    first = tl.load(blocks + block * 4)
    count = tl.load(blocks + block * 4 + 1)
    table = tl.load(blocks + block * 4 + 2)
    position = tl.load(blocks + block * 4 + 3)
    if count == 0:
        return

    folded = tl.arange(0, BLOCK_ROWS)
    asking = folded // FOLDED  # which row of the block
    in_group = tl.program_id(1) % PARTS * FOLDED + folded % FOLDED
    live = (asking < count) & (asking < BLOCK_QUERIES) & (in_group < GROUP)
    head = key_head * GROUP + in_group
    at = position + asking
    result = (split.to(tl.int64) * rows + first + asking) * HEADS + head

    begin = split * SPLIT
    end = tl.minimum(begin + SPLIT, position + count)
    lowest = tl.maximum(begin, position - window + 1)
    if lowest >= end:
        tl.store(lse + result, tl.full([BLOCK_ROWS], float("-inf"), tl.float32), mask=live)
        return

    across_key = tl.arange(0, KEY_WIDTH)
    across_value = tl.arange(0, VALUE_WIDTH)
    of_query = head.to(tl.int64) * query_head_stride + (first + asking).to(tl.int64) * query_row_stride
    q = tl.load(
        query + of_query[:, None] + across_key[None, :], mask=live[:, None] & (across_key < KEY_DIM)[None, :], other=0.0
    )
    if INTERPRETED:
        q = q.to(tl.float32)
    greatest = tl.full([BLOCK_ROWS], float("-inf"), tl.float32)
    total = tl.full([BLOCK_ROWS], 0, tl.float32)
    acc = tl.full([BLOCK_ROWS, VALUE_WIDTH], 0, tl.float32)
    for start in range(begin + (lowest - begin) // BLOCK_KEYS * BLOCK_KEYS, end, BLOCK_KEYS):
        place = start + tl.arange(0, BLOCK_KEYS)
        inside = place < end
        slot = key_head.to(tl.int64) * pool_slots + tl.load(slots + table + place, mask=inside, other=0)
        k = tl.load(
            keys + slot[None, :] * KEY_DIM + across_key[:, None],
            mask=inside[None, :] & (across_key < KEY_DIM)[:, None],
            other=0.0,
        )
        if INTERPRETED:
            k = k.to(tl.float32)
        scores = tl.dot(q, k, input_precision="ieee") * scale
        if SOFTCAP:
            shrunk = tl.exp(-2.0 * tl.abs(scores) / softcap)  # tanh, without overflow
            scores = softcap * tl.where(scores < 0, -1.0, 1.0) * (1.0 - shrunk) / (1.0 + shrunk)
        seen = inside[None, :] & (place[None, :] <= at[:, None]) & (place[None, :] > at[:, None] - window)
        scores = tl.where(seen, scores, float("-inf"))
        now = tl.maximum(greatest, tl.max(scores, 1))
        finite = tl.where(now == float("-inf"), 0.0, now)  # a row that has seen no key yet
        weights = tl.exp(scores - finite[:, None])
        fade = tl.exp(greatest - finite)
        total = total * fade + tl.sum(weights, 1)
        v = tl.load(
            values + slot[:, None] * VALUE_DIM + across_value[None, :],
            mask=inside[:, None] & (across_value < VALUE_DIM)[None, :],
            other=0.0,
        )
        weights = weights.to(v.dtype)
        if INTERPRETED:
            weights, v = weights.to(tl.float32), v.to(tl.float32)
        acc = acc * fade[:, None] + tl.dot(weights, v, input_precision="ieee")
        greatest = now
    some = total > 0
    divisor = tl.where(some, total, 1.0)
    tl.store(lse + result, tl.where(some, greatest + tl.log(divisor), float("-inf")), mask=live)
    tl.store(
        out + result[:, None] * VALUE_DIM + across_value[None, :],
        acc / divisor[:, None],
        mask=live[:, None] & (across_value < VALUE_DIM)[None, :],
    )


@triton.jit(do_not_specialize=["splits", "rows"])
def merge_kernel(
    partial,  # fp32 [splits, rows, HEADS, VALUE_DIM]; undefined where its lse is -inf
    lse,  # fp32 [splits, rows, HEADS]
    sinks,  # [HEADS]; not read without SINKS
    out,  # [rows, HEADS, VALUE_DIM]
    splits,
    rows,
    SINKS: tl.constexpr,
    HEADS: tl.constexpr,
    VALUE_DIM: tl.constexpr,
    VALUE_WIDTH: tl.constexpr,
):
    """One row and head: its splits in order, then the sink, which enters the denominator only."""
    row = tl.program_id(0).to(tl.int64)
    head = tl.program_id(1)
    across = tl.arange(0, VALUE_WIDTH)
    alike = tl.full([VALUE_WIDTH], 0, tl.int32)  # one number a row, held once a lane
    greatest = tl.full([VALUE_WIDTH], -3.0e38, tl.float32)
    total = tl.full([VALUE_WIDTH], 0, tl.float32)
    acc = tl.full([VALUE_WIDTH], 0, tl.float32)
    for split in range(splits):
        result = (split * rows + row) * HEADS + head
        its = tl.load(lse + result + alike)
        written = (its > float("-inf")) & (across < VALUE_DIM)
        part = tl.load(partial + result * VALUE_DIM + across, mask=written, other=0.0)
        now = tl.maximum(greatest, its)
        fade = tl.exp(greatest - now)
        weight = tl.exp(its - now)
        acc = acc * fade + part * weight
        total = total * fade + weight
        greatest = now
    if SINKS:
        sink = tl.load(sinks + head + alike).to(tl.float32)
        now = tl.maximum(greatest, sink)
        fade = tl.exp(greatest - now)
        acc = acc * fade
        total = total * fade + tl.exp(sink - now)
    done = acc / total
    tl.store(out + (row * HEADS + head) * VALUE_DIM + across, done.to(out.dtype.element_ty), mask=across < VALUE_DIM)


def slot_attention(
    query: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    tables: Tables,
    *,
    scale: float,
    window: int | None = None,
    softcap: float | None = None,
    sinks: torch.Tensor | None = None,
) -> torch.Tensor:
    """Query `[heads, rows, key_dim]`, one layer's `keys` `[kv_heads, slots, key_dim]` and `values` `[kv_heads, slots,
    value_dim]`; returns `[rows, heads, value_dim]`. Sums are fp32. Waits for nothing; may be recorded in a CUDA graph.
    """
    heads, rows, key_dim = query.shape
    kv_heads, pool_slots, value_dim = values.shape
    assert query.dtype in DTYPES
    assert query.dtype == keys.dtype == values.dtype
    assert query.stride(-1) == 1
    assert keys.shape == (kv_heads, pool_slots, key_dim)
    assert keys.is_contiguous()
    assert values.is_contiguous()
    assert heads % kv_heads == 0
    assert tables.slots.dtype == tables.blocks.dtype == torch.int32
    assert tables.blocks.is_contiguous()
    assert sinks is None or sinks.shape == (heads,)
    how = launch(heads, kv_heads, key_dim, value_dim, query.dtype, tables.block_queries, rows, tables.longest)
    splits = -(-tables.longest // int(how.constants["SPLIT"]))
    partial = torch.empty(splits, rows, heads, value_dim, dtype=torch.float32, device=query.device)
    lse = torch.empty(splits, rows, heads, dtype=torch.float32, device=query.device)
    with torch.cuda.device(query.get_device()):  # Triton launches on the current device
        partial_kernel[(len(tables.blocks), kv_heads * how.constants["PARTS"], splits)](
            query,
            keys,
            values,
            tables.slots,
            tables.blocks,
            partial,
            lse,
            query.stride(0),
            query.stride(1),
            pool_slots,
            rows,
            NO_WINDOW if window is None else window,
            scale,
            1.0 if softcap is None else softcap,
            SOFTCAP=softcap is not None,
            **how.constants,
            num_warps=how.num_warps,
            num_stages=how.num_stages,
        )
        out = torch.empty(rows, heads, value_dim, dtype=query.dtype, device=query.device)
        merge_kernel[(rows, heads)](
            partial,
            lse,
            lse if sinks is None else sinks,
            out,
            splits,
            rows,
            SINKS=sinks is not None,
            HEADS=heads,
            VALUE_DIM=value_dim,
            VALUE_WIDTH=how.constants["VALUE_WIDTH"],
            num_warps=1,
        )
    return out


def slot_attention_reference(
    query: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    tables: Tables,
    *,
    scale: float,
    window: int | None = None,
    softcap: float | None = None,
    sinks: torch.Tensor | None = None,
) -> torch.Tensor:
    """The same row by row in plain torch, in the dtype of its inputs."""
    heads, rows, _ = query.shape
    group = heads // keys.shape[0]
    out = query.new_empty(rows, heads, values.shape[-1])
    for first, count, table, position in tables.blocks.tolist():
        for offset in range(count):
            at = position + offset
            lowest = 0 if window is None else max(0, at - window + 1)
            slots = tables.slots[table + lowest : table + at + 1].long()
            key = keys[:, slots].repeat_interleave(group, 0)
            value = values[:, slots].repeat_interleave(group, 0)
            scores = (query[:, first + offset, None] @ key.transpose(1, 2))[:, 0] * scale
            if softcap is not None:
                scores = softcap * torch.tanh(scores / softcap)
            if sinks is not None:
                scores = torch.cat([scores, sinks[:, None].to(scores.dtype)], 1)
            weights = scores.softmax(-1)[:, : len(slots)]
            out[first + offset] = (weights[:, None] @ value)[:, 0]
    return out
