"""K and V of new tokens into their slots, one launch for both; K is rotated on the way where it is not yet."""

import torch
import triton
import triton.language as tl


@triton.jit(do_not_specialize=["pool_slots"])  # one variant for all pools
def kv_write_kernel(
    key,  # [kv_heads, rows, KEY_DIM] with any strides of the first two
    value,  # [kv_heads, rows, VALUE_DIM], likewise
    keys,  # [kv_heads, pool_slots, KEY_DIM]
    values,  # [kv_heads, pool_slots, VALUE_DIM]
    slots,  # [rows]
    cos,  # [rows, ROTARY_DIM]; not read where ROTARY_DIM is 0
    sin,
    key_head_stride,
    key_row_stride,
    value_head_stride,
    value_row_stride,
    pool_slots,
    KEY_DIM: tl.constexpr,
    VALUE_DIM: tl.constexpr,
    ROTARY_DIM: tl.constexpr,
    WIDTH: tl.constexpr,
):
    """One row of one head."""
    row = tl.program_id(0).to(tl.int64)
    head = tl.program_id(1).to(tl.int64)
    slot = head * pool_slots + tl.load(slots + row)
    across = tl.arange(0, WIDTH)
    its_key = key + head * key_head_stride + row * key_row_stride
    k = tl.load(its_key + across, mask=across < KEY_DIM, other=0.0)
    if ROTARY_DIM > 0:
        turned = across < ROTARY_DIM
        other = (across + ROTARY_DIM // 2) % ROTARY_DIM  # the halves are partners
        partner = tl.load(its_key + other, mask=turned, other=0.0).to(tl.float32)
        c = tl.load(cos + row * ROTARY_DIM + across, mask=turned, other=1.0).to(tl.float32)
        s = tl.load(sin + row * ROTARY_DIM + across, mask=turned, other=0.0).to(tl.float32)
        s = tl.where(across < ROTARY_DIM // 2, -s, s)
        k = (k.to(tl.float32) * c + partner * s).to(k.dtype)
    tl.store(keys + slot * KEY_DIM + across, k, mask=across < KEY_DIM)
    v = tl.load(value + head * value_head_stride + row * value_row_stride + across, mask=across < VALUE_DIM, other=0.0)
    tl.store(values + slot * VALUE_DIM + across, v, mask=across < VALUE_DIM)


def kv_write(
    key: torch.Tensor,
    value: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    slots: torch.Tensor,
    rotary: tuple[torch.Tensor, torch.Tensor] | None = None,
) -> None:
    """Writes key `[kv_heads, rows, key_dim]` and value `[kv_heads, rows, value_dim]` into one layer's `keys` and
    `values` `[kv_heads, slots, dim]` at `slots` `[rows]`.

    `rotary`: cos and sin `[rows, rotary_dim]` as Transformers' models make them (both halves the same angles). The
    engine writes without it: models hand keys over rotated.
    """
    kv_heads, rows, key_dim = key.shape
    value_dim = value.shape[-1]
    assert key.shape[:2] == value.shape[:2]
    assert key.stride(-1) == value.stride(-1) == 1
    assert key.dtype == value.dtype == keys.dtype == values.dtype
    assert keys.shape == (kv_heads, values.shape[1], key_dim)
    assert values.shape == (kv_heads, keys.shape[1], value_dim)
    assert keys.is_contiguous()
    assert values.is_contiguous()
    assert slots.shape == (rows,)
    assert slots.dtype in (torch.int32, torch.int64)
    assert slots.is_contiguous()
    cos, sin = (slots, slots) if rotary is None else rotary
    rotary_dim = 0 if rotary is None else cos.shape[-1]
    assert rotary is None or cos.shape == sin.shape == (rows, rotary_dim)
    assert rotary_dim % 2 == 0
    assert rotary_dim <= key_dim
    assert cos.is_contiguous()
    assert sin.is_contiguous()
    with torch.cuda.device(key.get_device()):  # Triton launches on the current device
        kv_write_kernel[(rows, kv_heads)](
            key,
            value,
            keys,
            values,
            slots,
            cos,
            sin,
            key.stride(0),
            key.stride(1),
            value.stride(0),
            value.stride(1),
            keys.shape[1],
            KEY_DIM=key_dim,
            VALUE_DIM=value_dim,
            ROTARY_DIM=rotary_dim,
            WIDTH=triton.next_power_of_2(max(key_dim, value_dim)),
            num_warps=1,
        )


def kv_write_reference(
    key: torch.Tensor,
    value: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    slots: torch.Tensor,
    rotary: tuple[torch.Tensor, torch.Tensor] | None = None,
) -> None:
    """The same in plain torch."""
    if rotary is not None:
        cos, sin = rotary
        turned, rest = key[..., : cos.shape[-1]], key[..., cos.shape[-1] :]
        first, second = turned.chunk(2, -1)
        key = torch.cat([turned * cos + torch.cat([-second, first], -1) * sin, rest], -1).to(keys.dtype)
    keys[:, slots.long()] = key
    values[:, slots.long()] = value
