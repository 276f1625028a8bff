"""How much memory there is, and how many KV slots fit in a budget."""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from flare_local.errors import OutOfMemory, UsageError

if TYPE_CHECKING:
    import torch

    from flare_local.engine.model import LoadedModel
    from flare_local.engine.pool import LayerShape

DEFAULT_SHARE = 0.5  # of what is free once the model is loaded; the rest is for activations and other programs
# Bytes. The pool is filled when it is made, so a host does not take all it could: 2 GiB hold 46,000 tokens of a 135M
# model in fp32, 16,000 of an 8B model in bfloat16.
DEFAULT_MOST = {"cpu": 2 * 2**30, "mps": 2 * 2**30, "cuda": 16 * 2**30}
UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "KI": 2**10, "MI": 2**20, "GI": 2**30}


@dataclass(frozen=True)
class Room:
    """One device's part of the pool."""

    device: str
    bytes_per_slot: int  # K and V of one token in the layers on this device
    free: int  # bytes


def slots_for(budget: str | None, layers: Sequence["LayerShape"], model: "LoadedModel") -> int:
    """Number of KV slots for a budget: a size ("2GiB", "500MB"), a share of what is free ("0.5"), or None.

    Every layer's K and V lie on that layer's device. Raises `UsageError`, `OutOfMemory`.
    """
    devices = sorted({layer.device for layer in layers}, key=str)
    rooms = [
        Room(str(device), sum(layer.bytes_per_slot for layer in layers if layer.device == device), free_bytes(device))
        for device in devices
    ]
    return slots_in(budget, rooms, model.name)


def slots_in(budget: str | None, rooms: Sequence[Room], name: str) -> int:
    """The number of slots that fits in every room; a size as budget is that of all rooms together."""
    per_slot = sum(room.bytes_per_slot for room in rooms)
    share = 1.0 if budget is None else budget_share(budget)
    if budget is None:
        slots = min(
            min(int(room.free * DEFAULT_SHARE), DEFAULT_MOST[room.device.split(":")[0]]) // room.bytes_per_slot
            for room in rooms
        )
    elif share is not None:
        slots = min(int(room.free * share) // room.bytes_per_slot for room in rooms)
    else:
        slots = budget_bytes(budget) // per_slot
    for room in rooms:
        if slots * room.bytes_per_slot > room.free:
            raise OutOfMemory(
                f"A KV pool of {budget} does not fit beside {name}: it takes {gib(slots * room.bytes_per_slot)} on "
                f"{room.device}, where {gib(room.free)} are free.",
                "Lower --kv-memory.",
            )
    if not slots:
        free = ", ".join(f"{gib(room.free)} on {room.device}" for room in rooms)
        raise OutOfMemory(
            f"The KV pool would hold no token of {name}: one takes {per_slot / 2**10:.1f} KiB.",
            f"Raise --kv-memory ({free} are free).",
        )
    return slots


def budget_share(budget: str) -> float | None:
    """The share of what is free that `budget` names, a number up to 1 without a unit; None where it is a size."""
    number, unit = _parsed(budget)
    if unit:
        return None
    if number > 1:
        raise UsageError(f"--kv-memory {budget!r} has no unit.", f"Write {budget.strip()}GiB, or a share up to 1.")
    return number


def budget_bytes(budget: str) -> int:
    """Bytes of a budget written as a size with a unit."""
    number, unit = _parsed(budget)
    return int(number * UNITS[unit.removesuffix("B")])


def _parsed(budget: str) -> tuple[float, str]:
    match = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*((?:[KMG]I?)?B?)\s*", budget.upper())
    if match is None or not float(match[1]):
        raise UsageError(
            f"--kv-memory {budget!r} is no amount of memory.",
            "Write a number of KB, MB, GB, KiB, MiB or GiB (2GiB), or a share of what is free (0.5).",
        )
    return float(match[1]), match[2]


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
