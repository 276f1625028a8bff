"""Whether Triton is here, and whether it interprets kernels on the CPU instead of compiling them."""

import os
from importlib.util import find_spec


def is_installed() -> bool:
    """Triton comes with CUDA builds of torch; other builds have none."""
    return find_spec("triton") is not None


def is_interpreted() -> bool:
    """Whether kernels run in Triton's interpreter: slow, on any tensor, for tests. Set before a kernel is imported."""
    return os.environ.get("TRITON_INTERPRET", "").lower() in ("1", "true", "on", "yes")
