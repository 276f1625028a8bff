"""Facts about this machine, read without any library that is not Python's own."""

import os
import platform
import sys
from pathlib import Path

# Flags of /proc/cpuinfo that decide how fast 16-bit models run, in the words of the makers.
SPEEDS = {
    "amx_bf16": "AMX bf16",
    "avx512_bf16": "AVX512 bf16",
    "avx512f": "AVX512",
    "avx2": "AVX2",
    "bf16": "Arm bf16",
    "asimd": "NEON",
}


def cpu() -> str:
    """Name of the CPU, cores that this process may use, and what makes it fast."""
    fields = _cpuinfo()
    name = fields.get("model name") or platform.processor() or platform.machine()
    flags = set(fields.get("flags", fields.get("Features", "")).split())
    speeds = [word for flag, word in SPEEDS.items() if flag in flags]
    absent = "" if "amx_bf16" in flags else ", no AMX"
    return f"{name}, {cores()} cores, {', '.join(speeds) or 'no known vector unit'}{absent}"


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def existing_parent(folder: Path) -> Path:
    """`folder`, or the nearest folder above it that exists."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return folder


def entries(folder: Path, pattern: str) -> list[str]:
    """Names that match in `folder`, sorted; none where there is no such folder."""
    return sorted(path.name for path in folder.glob(pattern)) if folder.is_dir() else []


def system() -> str:
    """Operating system and interpreter."""
    return f"{platform.python_version()} ({sys.executable}) on {platform.system()} {platform.release()}"


def _cpuinfo() -> dict[str, str]:
    """The fields of the first processor; empty where there is no /proc."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").split("\n\n")[0]
    except OSError:
        return {}
    pairs = (line.partition(":") for line in text.splitlines())
    return {key.strip(): value.strip() for key, _, value in pairs}
