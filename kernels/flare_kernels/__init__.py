"""GPU kernels of flare_local: a file has the kernel, its asserting wrapper and its plain torch reference."""

from flare_kernels.runtime import is_installed, is_interpreted

__all__ = ["is_installed", "is_interpreted"]
