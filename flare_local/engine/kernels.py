"""Which kernels compute attention and scores: plain torch, or on NVIDIA GPUs those of `flare_kernels`, in Triton."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import flare_kernels

from flare_local.errors import UsageError

if TYPE_CHECKING:
    from flare_local.engine.pool import LayerShape

Kernels = Literal["auto", "torch", "triton"]

SERVED = ("torch.float32", "torch.bfloat16", "torch.float16")


def uses_triton(asked: Kernels, layers: "Sequence[LayerShape]") -> bool:
    """Whether a model with these layers runs on Triton's kernels. `auto`: where it can, on a GPU only.

    Raises `UsageError` where they were asked for and cannot run.
    """
    if asked == "torch":
        return False
    fault = _fault(layers)
    if asked == "auto":
        return fault is None and not flare_kernels.is_interpreted()
    if fault is not None:
        raise UsageError(f"--kernels triton: {fault}", "Use --kernels torch or leave it out.")
    return True


def _fault(layers: "Sequence[LayerShape]") -> str | None:
    """Why Triton's kernels cannot run these layers."""
    if not flare_kernels.is_installed():
        return "the package triton is not installed."
    elsewhere = sorted({str(layer.device) for layer in layers if layer.device.type != "cuda"})
    if elsewhere and not flare_kernels.is_interpreted():
        where = ", ".join(elsewhere)
        return f"they need an NVIDIA GPU, and layers run on: {where} (TRITON_INTERPRET=1 interprets them, for tests)."
    odd = sorted({str(layer.dtype) for layer in layers} - set(SERVED))
    return f"they do not compute in {', '.join(odd).replace('torch.', '')}." if odd else None
