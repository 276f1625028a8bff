"""How much memory there is, and how many KV slots fit in a budget."""

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from flare_local.errors import OutOfMemory, UsageError

if TYPE_CHECKING:
    import torch

DEFAULT_SHARE = 0.5  # of what is free once the model is loaded; the rest is for activations and other programs
DEFAULT_MOST = 8 * 2**30  # bytes; more than a run of FLARE needs at 8B (128 KiB a token: 65,000 tokens)
UNITS = {"": 1, "B": 1, "K": 10**3, "M": 10**6, "G": 10**9, "KI": 2**10, "MI": 2**20, "GI": 2**30}


def slots_for(budget: str | None, bytes_per_slot: int, free: int) -> int:
    """Number of KV slots for a budget: a size ("2GiB", "500MB"), a share of what is free ("0.5"), or None.

    `bytes_per_slot`: K and V of one token over all layers; `free`: bytes. Raises `UsageError`, `OutOfMemory`.
    """
    wanted = min(int(free * DEFAULT_SHARE), DEFAULT_MOST) if budget is None else budget_bytes(budget, free)
    if wanted > free:
        raise OutOfMemory(
            f"The KV pool of {budget} does not fit: {gib(free)} are free beside the model.", "Lower --kv-memory."
        )
    if wanted < bytes_per_slot:
        raise OutOfMemory(
            f"A KV pool of {gib(wanted)} holds no token: one takes {bytes_per_slot / 2**10:.1f} KiB.",
            f"Raise --kv-memory ({gib(free)} are free).",
        )
    return wanted // bytes_per_slot


def budget_bytes(budget: str, free: int) -> int:
    """Bytes of a budget written as a size with a unit, or as a share of `free` between 0 and 1."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([KMG]I?)?B?\s*", budget.upper())
    if match is None or not float(match[1]):
        raise UsageError(
            f"--kv-memory {budget!r} is no amount of memory.", "Write 2GiB, 500MB, or a share such as 0.5."
        )
    number, unit = float(match[1]), match[2] or ""
    if not unit and "B" not in budget.upper():
        if number > 1:
            raise UsageError(f"--kv-memory {budget!r} has no unit.", f"Write {budget.strip()}GiB, or a share up to 1.")
        return int(free * number)
    return int(number * UNITS[unit])


def free_bytes(device: "torch.device") -> int:
    """Bytes that can still be allocated on `device`: what the allocator holds unused counts as free."""
    import torch

    if device.type == "cuda":
        free, _ = torch.cuda.mem_get_info(device)
        return int(free + torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device))
    if device.type == "mps":
        return int(torch.mps.recommended_max_memory() - torch.mps.current_allocated_memory())
    return min(_available_on_host(), _left_in_cgroup())


def check_weights_fit(name: str, needed: int, free: int) -> None:
    """Raises `OutOfMemory` before weights of `needed` bytes are read into `free` bytes."""
    if needed > free:
        raise OutOfMemory(
            f"The weights of {name} take {gib(needed)}; {gib(free)} are free.",
            "Use a smaller model, --dtype bfloat16, or --device-map auto with --offload-folder.",
        )


def gib(size: float) -> str:
    """A number of bytes as text."""
    return f"{size / 2**30:.2f} GiB"


def _available_on_host() -> int:
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 2**10
    except OSError:
        pass
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2  # no /proc (macOS): half of what is built in


def _left_in_cgroup(root: Path = Path("/sys/fs/cgroup")) -> int:
    """Bytes left under a container's limit (cgroup v2); very many where there is none."""
    try:
        limit = (root / "memory.max").read_text(encoding="ascii").strip()
        used = int((root / "memory.current").read_text(encoding="ascii"))
        fields = dict(line.split() for line in (root / "memory.stat").read_text(encoding="ascii").splitlines())
        return int(limit) - used + int(fields["inactive_file"])  # file pages are given back under pressure
    except (OSError, ValueError, KeyError):  # no cgroup v2, or the limit is the word "max"
        return 2**62
