"""Every variant of every kernel becomes machine code for sm_80 and sm_90, without a GPU; what each takes is printed."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("triton")

from flare_kernels.ahead import ARCHITECTURES, MOST_SHARED, variants

LINE = re.compile(r"sm_(\d+) +(\d+) +(\d+) +(\d+)  (.+)")
MOST_SPILLED = 16  # bytes a thread


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[int, int, int, int, str]]:
    """Architecture, registers, shared memory, spills, name. In a process that compiles instead of interpreting."""
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    environment["TRITON_CACHE_DIR"] = str(tmp_path_factory.mktemp("triton"))
    done = subprocess.run(
        [sys.executable, "-m", "flare_kernels.ahead"],
        env=environment,
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
    )
    print(done.stdout)
    assert done.returncode == 0, done.stderr
    return [(int(a), int(r), int(sh), int(sp), name) for a, r, sh, sp, name in LINE.findall(done.stdout)]


def test_every_variant_compiles_for_every_architecture(compiled: list[tuple[int, int, int, int, str]]) -> None:
    wanted = {(architecture, variant.name) for variant in variants() for architecture in ARCHITECTURES}
    assert {(architecture, name) for architecture, *_, name in compiled} == wanted


def test_none_takes_more_shared_memory_than_there_is_or_spills_much(
    compiled: list[tuple[int, int, int, int, str]],
) -> None:
    for architecture, registers, shared, spilled, name in compiled:
        assert registers <= 255, name
        assert shared <= MOST_SHARED[architecture], name
        assert spilled <= MOST_SPILLED, name
