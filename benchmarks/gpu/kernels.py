"""Every kernel, compiled: right against fp64, then its time and its share of the bandwidth."""

import torch
from flare_kernels.kv_write import kv_write, kv_write_reference
from flare_kernels.score_tokens import score_tokens, score_tokens_reference
from flare_kernels.slot_attention import slot_attention, slot_attention_reference
from flare_kernels.tables import Tables

from benchmarks.gpu.figures import Figures
from benchmarks.gpu.machine import Machine

# Largest difference from fp64. Half precision rounds inputs of the second product and the result.
TOLERANCE = {torch.float32: 1e-5, torch.bfloat16: 3e-2, torch.float16: 5e-3}
SHAPES = ((14, 2, 64, 64), (32, 8, 128, 128), (8, 1, 256, 256), (16, 16, 192, 128))  # heads, K/V heads, widths
PACKINGS = {
    "decode": ([(700, 1), (0, 1), (3000, 1)], 1),
    "verify": ([(700, 7), (2, 2)], 4),
    "prefill": ([(300, 90)], 16),
}
REHEARSED = {"decode": ([(30, 1), (0, 1)], 1), "verify": ([(20, 3)], 4)}


def check_kernels(machine: Machine, figures: Figures) -> None:
    """All variants against references in fp64; one figure a case."""
    dtypes = (torch.float32, torch.bfloat16, torch.float16)
    shapes = ((4, 2, 16, 16),) if machine.rehearsal else SHAPES
    for dtype in dtypes:
        for shape in shapes:
            for name, (sequences, block_queries) in (REHEARSED if machine.rehearsal else PACKINGS).items():
                _check_attention(machine, figures, name, sequences, block_queries, shape, dtype)
        _check_write(machine, figures, dtype)
        _check_scores(machine, figures, dtype)


def _check_attention(
    machine: Machine,
    figures: Figures,
    name: str,
    sequences: list[tuple[int, int]],
    block_queries: int,
    shape: tuple[int, int, int, int],
    dtype: torch.dtype,
) -> None:
    more = [(17, 20.0, True)] if shape in ((4, 2, 16, 16), SHAPES[0]) else []
    for window, softcap, with_sinks in [(None, None, False), *more]:
        query, keys, values, tables = attention_case(machine, sequences, block_queries, shape, dtype)
        sinks = torch.randn(shape[0], device=machine.device).to(dtype) if with_sinks else None
        scale = shape[2] ** -0.5
        ours = slot_attention(query, keys, values, tables, scale=scale, window=window, softcap=softcap, sinks=sinks)
        wide = (query.double(), keys.double(), values.double())
        sinks = None if sinks is None else sinks.double()
        exact = slot_attention_reference(*wide, tables, scale=scale, window=window, softcap=softcap, sinks=sinks)
        error = float((ours - exact).abs().max())
        what = f"{name}{' window softcap sinks' if with_sinks else ''}"
        _judge(figures, f"attention {what}", dtype, error, heads=list(shape))


def _check_write(machine: Machine, figures: Figures, dtype: torch.dtype) -> None:
    for rotated in (False, True):
        key, value = (torch.randn(2, 9, 64, device=machine.device).to(dtype) for _ in range(2))
        slots = torch.randperm(50, device=machine.device)[:9]
        angles = torch.randn(9, 32, device=machine.device).repeat(1, 2)
        rotary = (angles.cos().to(dtype), angles.sin().to(dtype)) if rotated else None
        ours = [torch.zeros(2, 50, 64, device=machine.device, dtype=dtype) for _ in range(2)]
        exact = [each.double() for each in ours]
        kv_write(key, value, ours[0], ours[1], slots, rotary)
        wide = None if rotary is None else (rotary[0].double(), rotary[1].double())
        kv_write_reference(key.double(), value.double(), exact[0], exact[1], slots, wide)
        error = max(float((mine - theirs).abs().max()) for mine, theirs in zip(ours, exact, strict=True))
        _judge(figures, f"kv write{' rotary' if rotated else ''}", dtype, error)


def _check_scores(machine: Machine, figures: Figures, dtype: torch.dtype) -> None:
    logits = (torch.randn(4, 900 if machine.rehearsal else 151936, device=machine.device) * 5).to(dtype)
    logits[0, [70, 800]] = logits.amax() + 1  # a tie
    ids = torch.tensor([5, 0, 899, 17], device=machine.device)
    top, top_probability, probability = score_tokens(logits, ids)
    exact = score_tokens_reference(logits.double(), ids)
    error = float(max((top_probability - exact[1]).abs().max(), (probability - exact[2]).abs().max()))
    same = bool(torch.equal(top, exact[0]))
    figures.take("score tokens", dtype=str(dtype), error=error, right=same and error < 1e-6)


def _judge(figures: Figures, what: str, dtype: torch.dtype, error: float, **about: object) -> None:
    figures.take(what, dtype=str(dtype), error=error, right=error < TOLERANCE[dtype], **about)


def attention_case(
    machine: Machine,
    sequences: list[tuple[int, int]],
    block_queries: int,
    shape: tuple[int, int, int, int],
    dtype: torch.dtype,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, Tables]:
    """Queries, a pool whose slots are used in random order, and its tables, for (tokens before, rows) each."""
    heads, kv_heads, key_dim, value_dim = shape
    device = machine.device
    total = sum(before + count for before, count in sequences)
    rows = sum(count for _, count in sequences)
    blocks = []
    row = table = 0
    for before, count in sequences:
        for done in range(0, count, block_queries):
            blocks.append((row + done, min(block_queries, count - done), table, before + done))
        row, table = row + count, table + before + count
    query = torch.randn(heads, rows, key_dim, device=device).to(dtype)
    keys = torch.randn(kv_heads, total + 9, key_dim, device=device).to(dtype)
    values = torch.randn(kv_heads, total + 9, value_dim, device=device).to(dtype)
    slots = torch.randperm(total + 9, device=device)[:total].int()
    longest = max(before + count for before, count in sequences)
    return query, keys, values, Tables(slots, torch.tensor(blocks, device=device).int(), block_queries, longest)


def time_kernels(machine: Machine, figures: Figures, bandwidth: float) -> None:
    """Times of one layer of an 8B model at 3,000 tokens; shares are of the copy bandwidth (GB/s)."""
    shape, before = ((4, 2, 16, 16), 30) if machine.rehearsal else ((32, 8, 128, 128), 3000)
    for rows, block_queries in ((1, 1), (8, 4), (64, 16)):
        query, keys, values, tables = attention_case(machine, [(before, rows)], block_queries, shape, torch.bfloat16)
        ms = machine.milliseconds(lambda c=(query, keys, values, tables): slot_attention(*c, scale=0.1))
        read = (before + rows) * shape[1] * (shape[2] + shape[3]) * 2
        share = read / ms / 1e6 / bandwidth
        figures.take("time of attention, launched by Python", rows=rows, keys=before, ms=ms, bandwidth_share=share)
    vocabulary = 900 if machine.rehearsal else 128256
    for rows in (1, 16):
        logits = torch.randn(rows, vocabulary, device=machine.device).bfloat16()
        ids = torch.zeros(rows, dtype=torch.long, device=machine.device)
        ms = machine.milliseconds(lambda c=(logits, ids): score_tokens(*c))
        figures.take("time of score tokens, launched by Python", rows=rows, vocabulary=vocabulary, ms=ms)
