"""The machine that is measured: what it is, how fast it copies, and how long something takes on it."""

import platform
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from statistics import median

import torch


@dataclass(frozen=True)
class Machine:
    """A GPU, or a CPU on which the check is rehearsed."""

    device: torch.device
    rehearsal: bool

    def about(self) -> dict[str, object]:
        """Names and versions."""
        name = platform.processor() or platform.machine()
        if self.device.type == "cuda":
            name = torch.cuda.get_device_name(self.device)
        packages = {package: version(package) for package in ("torch", "transformers", "triton")}
        return {"device": name, "rehearsal": self.rehearsal, "python": platform.python_version(), **packages}

    def wait(self) -> None:
        """Until all that was launched is done."""
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)

    def milliseconds(self, run: Callable[[], object], repetitions: int = 20) -> float:
        """Median time of `run` from launch to end, after two that do not count (they compile and record)."""
        times = []
        for repetition in range(3 if self.rehearsal else repetitions + 2):
            self.wait()
            begun = time.perf_counter()
            run()
            self.wait()
            if repetition > 1:
                times.append((time.perf_counter() - begun) * 1e3)
        return median(times)

    def copy_bandwidth(self) -> float:
        """GB/s read and written together by a large copy: the ceiling that others are compared with."""
        size = 1 << (22 if self.rehearsal else 31)
        source = torch.ones(size // 4, device=self.device)
        target = torch.empty_like(source)
        return 2 * size / self.milliseconds(lambda: target.copy_(source)) / 1e6
