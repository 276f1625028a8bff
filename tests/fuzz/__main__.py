"""Runs random programs: `python -m tests.fuzz --programs 2000 --seed 1`, and one of them again with `--only NUMBER`."""

import argparse
import random
import sys
import time
import traceback
from collections.abc import Sequence

import torch

from tests.fuzz.meter import Meter
from tests.fuzz.program import program
from tests.fuzz.run import MARGIN, run


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns the exit code: 1 where a program failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--programs", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("--only", type=int, metavar="NUMBER", help="run this program alone")
    wanted = parser.parse_args(arguments)
    numbers = range(wanted.programs) if wanted.only is None else [wanted.only]
    print(f"seed {wanted.seed}, {len(numbers)} programs", flush=True)
    meter, failed, began = Meter(), [], time.monotonic()
    for done, number in enumerate(numbers, start=1):
        one = program(wanted.seed, number)
        try:
            run(one, meter)
        except Exception:  # told in full, counted, and the exit code is 1: the other programs run all the same
            failed.append(number)
            print(f"{one} failed:\n{traceback.format_exc()}", flush=True)
        if done % 100 == 0:
            print(f"{done} programs, {len(failed)} failures, {time.monotonic() - began:.0f} s", flush=True)
    for what, count in sorted(meter.counts.items()):
        print(f"{count:8} {what}")
    print(f"{len(MARGIN.cases)} near ties in {MARGIN.decisions} decisions in fp32, {MARGIN.allowed} allowed")
    print(f"{len(numbers)} programs, {len(failed)} failures" + (f": {failed}" if failed else ""))
    return int(bool(failed) or len(MARGIN.cases) > MARGIN.allowed)


if __name__ == "__main__":
    torch.set_num_threads(1)  # the models are tiny
    sys.exit(main())
