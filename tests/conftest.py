"""Settings of the whole test run: one thread a process for tiny models, and slow tests only on demand."""

import os

import pytest

os.environ.setdefault("OMP_NUM_THREADS", "1")  # tiny matrices: more threads only get in each other's way
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ.setdefault("TRITON_INTERPRET", "1")  # kernels run on the CPU; read when they are imported


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--full", action="store_true", help="run the tests marked slow too")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--full") or config.getoption("-m"):
        return
    for item in items:
        if item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.skip(reason="slow: runs with --full"))
