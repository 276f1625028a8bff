"""K and V into their slots, in the interpreter, against plain torch."""

import pytest
import torch

pytest.importorskip("triton")

from flare_kernels.kv_write import kv_write, kv_write_reference

SLOTS = 40


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("dims", [(16, 16), (24, 16), (8, 80)])
@pytest.mark.parametrize("rows", [1, 5])
def test_rows_reach_their_slots_and_no_others(rows: int, dims: tuple[int, int], dtype: torch.dtype) -> None:
    key, value, keys, values, slots = made(rows, dims, dtype)
    kept = keys.clone(), values.clone()
    kv_write(key, value, keys, values, slots)
    kv_write_reference(key, value, *kept, slots)
    assert torch.equal(keys.nan_to_num(-1), kept[0].nan_to_num(-1))
    assert torch.equal(values.nan_to_num(-1), kept[1].nan_to_num(-1))


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-6), (torch.bfloat16, 2e-2)])
@pytest.mark.parametrize("rotary_dim", [24, 10, 2])
def test_keys_are_rotated_as_in_fp64(rotary_dim: int, dtype: torch.dtype, tolerance: float) -> None:
    key, value, keys, values, slots = made(6, (24, 24), dtype)
    angles = torch.randn(6, rotary_dim // 2, generator=torch.Generator().manual_seed(1)).repeat(1, 2)
    rotary = angles.cos().to(dtype), angles.sin().to(dtype)
    exact = keys.double(), values.double()
    kv_write(key, value, keys, values, slots, rotary)
    kv_write_reference(key.double(), value.double(), *exact, slots, (rotary[0].double(), rotary[1].double()))
    assert (keys[:, slots] - exact[0][:, slots]).abs().max() < tolerance
    assert torch.equal(values[:, slots].double(), exact[1][:, slots])


def made(rows: int, dims: tuple[int, int], dtype: torch.dtype) -> tuple[torch.Tensor, ...]:
    """New K and V as models hand them over (views of `[rows, heads * dim]`), a pool of NaN, and slots."""
    generator = torch.Generator().manual_seed(0)
    key, value = (torch.randn(rows, 2, dim, generator=generator).to(dtype).transpose(0, 1) for dim in dims)
    keys, values = (torch.full((2, SLOTS, dim), torch.nan, dtype=dtype) for dim in dims)
    return key, value, keys, values, torch.randperm(SLOTS, generator=generator)[:rows]
