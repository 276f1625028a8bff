"""`python -m benchmarks.gpu`: what only a GPU can show, or with --rehearse the same on a CPU, tiny and interpreted."""

import argparse
import os
import sys
from functools import partial
from pathlib import Path

LIMIT = 250.0  # seconds after which no part begins that needs more; imports come before, a part may take longer


def main() -> int:
    """Runs every part; 0 where all that ran was right."""
    parser = argparse.ArgumentParser(prog="gpu_check.sh", description=__doc__)
    parser.add_argument(
        "--out", type=Path, default=Path(os.environ.get("OUT", "out/gpu_check")), help="folder of figures"
    )
    parser.add_argument("--rehearse", action="store_true", help="tiny sizes on the CPU; as without a GPU")
    options = parser.parse_args()

    import torch

    rehearsal = options.rehearse or not torch.cuda.is_available()
    if rehearsal:
        os.environ["TRITON_INTERPRET"] = "1"  # before a kernel is imported

    from benchmarks.gpu.exact import check_engine
    from benchmarks.gpu.figures import Figures
    from benchmarks.gpu.kernels import check_kernels, time_kernels
    from benchmarks.gpu.machine import Machine
    from benchmarks.gpu.models import REAL, REHEARSED
    from benchmarks.gpu.speed import measure

    machine = Machine(torch.device("cpu" if rehearsal else "cuda"), rehearsal)
    figures = Figures(options.out, LIMIT)
    figures.take("machine", **machine.about())
    if rehearsal:
        figures.take(
            "not run", section="everything compiled", reason="no GPU is used: a rehearsal, whose times mean nothing"
        )
    bandwidth = machine.copy_bandwidth()
    figures.take("copy bandwidth", gb_per_s=bandwidth)
    figures.section("kernels against fp64", partial(check_kernels, machine, figures))
    figures.section("engine against the oracle", partial(check_engine, machine, figures), 20)
    figures.section("times of kernels", partial(time_kernels, machine, figures, bandwidth), 10)
    for name in REHEARSED if rehearsal else REAL:
        figures.section(f"speed of {name}", partial(measure, machine, figures, bandwidth, name), 50)
    return 0 if figures.finish() else 1


if __name__ == "__main__":
    sys.exit(main())
