"""Attention over slot tables, in the interpreter, against plain fp64."""

import pytest
import torch

pytest.importorskip("triton")

from flare_kernels.slot_attention import slot_attention, slot_attention_reference

from tests.gpu_kernels.packed import Packed, packed

TOLERANCE = {torch.float32: 3e-6, torch.float16: 2e-3, torch.bfloat16: 2e-2}
PACKED = {  # tokens in the pool before, rows; rows a block
    "decode": ([(40, 1), (0, 1)], 1),
    "verify": ([(61, 7), (3, 1)], 4),
    "prefill": ([(10, 33)], 16),
    "two splits": ([(290, 2)], 4),
}
SHAPES = {  # heads, kv_heads, (key_dim, value_dim)
    "grouped": (4, 2, (16, 16)),
    "one head": (1, 1, (8, 8)),
    "seven in a group": (7, 1, (64, 64)),
    "no groups": (2, 2, (24, 24)),
    "twelve in a group": (12, 1, (32, 32)),
    "narrow values": (2, 1, (48, 32)),
}


@pytest.mark.parametrize(("sequences", "block_queries"), PACKED.values(), ids=PACKED)
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_rows_attend_as_in_fp64(
    shape: tuple[int, int, tuple[int, int]], sequences: list[tuple[int, int]], block_queries: int
) -> None:
    check(packed(sequences, *shape, torch.float32, block_queries), scale=shape[2][0] ** -0.5)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize(("sequences", "block_queries"), PACKED.values(), ids=PACKED)
def test_half_precision_rounds_only_what_goes_in_and_out(
    sequences: list[tuple[int, int]], block_queries: int, dtype: torch.dtype
) -> None:
    check(packed(sequences, 4, 2, (16, 16), dtype, block_queries), scale=0.25)


@pytest.mark.parametrize(
    ("window", "softcap", "sinks"),
    [
        (1, None, False),
        (5, 2.0, True),
        (64, None, True),
        (280, 2.0, False),
        (1000, None, False),
        (None, 2.0, False),
        (None, None, True),
        (None, 2.0, True),
    ],
)
def test_windows_soft_caps_and_sinks(window: int | None, softcap: float | None, sinks: bool) -> None:
    case = packed([(310, 5), (0, 2)], 2, 1, (16, 16), torch.float32, 4, seed=1)
    sink = torch.randn(2, generator=torch.Generator().manual_seed(3)) if sinks else None
    check(case, scale=0.7, window=window, softcap=softcap, sinks=sink)


@pytest.mark.parametrize("block_queries", [1, 4, 16])
def test_the_block_size_changes_nothing(block_queries: int) -> None:
    check(packed([(20, 9), (70, 3)], 6, 2, (16, 16), torch.float32, block_queries, seed=2), scale=0.25)


def test_empty_blocks_are_left_alone() -> None:
    case = packed([(20, 2)], 4, 2, (16, 16), torch.float32, 4, padding=3)
    check(case, scale=0.25)


def test_extreme_scores_stay_finite() -> None:
    case = packed([(40, 3)], 2, 1, (16, 16), torch.float32, 4)
    out = slot_attention(case.query * 1e4, case.keys, case.values, case.tables, scale=1.0, softcap=50.0)
    assert bool(out.isfinite().all())


def test_a_row_does_not_depend_on_what_else_is_packed() -> None:
    alone = packed([(290, 3)], 2, 1, (16, 16), torch.float32, 4)
    both = packed([(290, 3), (70, 2)], 2, 1, (16, 16), torch.float32, 4)
    keys, values = both.keys.clone(), both.values.clone()
    old, new = alone.tables.slots.long(), both.tables.slots[:293].long()
    keys[:, new], values[:, new] = alone.keys[:, old], alone.values[:, old]
    query = torch.cat([alone.query, both.query[:, 3:]], 1)
    together = slot_attention(query, keys, values, both.tables, scale=0.25)
    assert torch.equal(together[:3], slot_attention(alone.query, alone.keys, alone.values, alone.tables, scale=0.25))


def check(
    case: Packed,
    *,
    scale: float,
    window: int | None = None,
    softcap: float | None = None,
    sinks: torch.Tensor | None = None,
) -> None:
    ours = slot_attention(
        case.query, case.keys, case.values, case.tables, scale=scale, window=window, softcap=softcap, sinks=sinks
    )
    wide = case.wide()
    exact = slot_attention_reference(
        wide.query, wide.keys, wide.values, wide.tables, scale=scale, window=window, softcap=softcap, sinks=sinks
    )
    assert ours.dtype == case.query.dtype
    assert (ours - exact).abs().max() < TOLERANCE[ours.dtype]
