"""Linear layers in the layout that oneDNN multiplies fastest, on the CPU.

Torch's own matrix product reads plain weights: on the CPU it uses a part of the memory's bandwidth, and from the second
row on much less. oneDNN's packed form of the same weights gives the same product, up to rounding. Measured (Zen 4, 2
cores, 896 x 4864): one row 0.35 ms -> 0.11 in bf16 and 1.04 -> 0.23 in fp32, five rows 0.41 -> 0.15 and 1.55 -> 0.31,
512 rows 6.8 -> 5.4 and 27 -> 12.
"""

from typing import Any

import torch
from torch import nn
from torch.nn.functional import linear

ROWS = 16  # the layout is chosen for this many; it serves all
DTYPES = (torch.float32, torch.bfloat16, torch.float16)
CHECKED_ROWS = 3
# Largest distance from torch's product, as a share of the largest output. Rounding gives 1e-6 and 8e-3.
SHARE = {torch.float32: 1e-4, torch.bfloat16: 4e-2, torch.float16: 1e-2}


class PackedLinear(nn.Module):
    """An `nn.Linear` whose weight is packed. `weight` keeps its shape and dtype, its numbers lie elsewhere."""

    def __init__(self, plain: nn.Linear) -> None:
        """Raises `RuntimeError` where this torch or processor cannot pack weights of this dtype."""
        super().__init__()
        self.in_features, self.out_features = plain.in_features, plain.out_features
        self.bias = plain.bias
        self.weight = torch.ops.mkldnn._reorder_linear_weight(plain.weight.detach(), ROWS)

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        """`[..., in_features]` to `[..., out_features]`."""
        if rows.numel() == 0:
            return rows.new_empty(*rows.shape[:-1], self.out_features)
        product: torch.Tensor = torch.ops.mkldnn._linear_pointwise(rows, self.weight, self.bias, "none", [], "")
        return product


def pack_linears(module: nn.Module) -> int:
    """Packs all linear layers of `module` that lie on the CPU; says how many.

    Each is compared with torch's product on random rows first; one that differs, or that cannot be packed here, stays
    as it is. Plain weights are given up layer by layer, but for those that something else uses too (tied embeddings).
    """
    packed = 0
    for parent in [*module.modules()]:
        for name, child in [*parent.named_children()]:
            if type(child) is nn.Linear and _can_be_packed(child) and (better := _packed(child)) is not None:
                setattr(parent, name, better)
                packed += 1
    return packed


def _can_be_packed(layer: nn.Linear) -> bool:
    moved = getattr(layer, "_hf_hook", None) is not None  # Accelerate brings its weights when they are needed
    return layer.weight.device.type == "cpu" and layer.weight.dtype in DTYPES and not moved


def _packed(plain: nn.Linear) -> PackedLinear | None:
    """None where it cannot be packed here, or would compute something else."""
    with torch.no_grad():
        try:
            packed = PackedLinear(plain)
            return packed if _same(plain, packed) else None
        except (RuntimeError, AttributeError):
            return None


def _same(plain: nn.Linear, packed: PackedLinear) -> bool:
    generator = torch.Generator().manual_seed(0)
    rows = torch.randn(CHECKED_ROWS, plain.in_features, generator=generator).to(plain.weight.dtype)
    expected: Any = linear(rows, plain.weight, plain.bias).float()
    distance = (packed(rows).float() - expected).abs().max()
    return bool(distance <= SHARE[plain.weight.dtype] * expected.abs().max())
