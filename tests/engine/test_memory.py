"""How many slots a budget holds."""

from pathlib import Path

import pytest
import torch

from flare_local.engine.memory import Room, _left_in_cgroup, check_weights_fit, free_bytes, slots_in
from flare_local.errors import OutOfMemory, UsageError

GIB = 2**30
ROOM = Room("cpu", 1024, 4 * GIB)


@pytest.mark.parametrize(
    ("budget", "size"),
    [("2GiB", 2 * GIB), ("2 gib", 2 * GIB), ("1G", 10**9), ("500MB", 500 * 10**6), ("0.5", 2 * GIB), (".25", GIB)],
)
def test_a_budget_is_a_size_or_a_share(budget: str, size: int) -> None:
    assert slots_in(budget, [ROOM], "m") == size // 1024


def test_the_default_is_half_of_what_is_free_up_to_a_bound() -> None:
    assert slots_in(None, [Room("cpu", 1024, GIB)], "m") == GIB // 2 // 1024
    assert slots_in(None, [Room("cpu", 1024, 64 * GIB)], "m") == 2 * GIB // 1024
    assert slots_in(None, [Room("cuda:0", 1024, 128 * GIB)], "m") == 16 * GIB // 1024


def test_layers_on_two_devices_share_a_size_and_the_fuller_one_bounds_a_share() -> None:
    rooms = [Room("cuda:0", 3000, GIB), Room("cpu", 1000, 4 * GIB)]
    assert slots_in("4000000B", rooms, "m") == 1000
    assert slots_in("0.5", rooms, "m") == GIB // 2 // 3000


@pytest.mark.parametrize("budget", ["", "much", "-1GiB", "0", "0.0", "2TiB", "nan", "1e3"])
def test_what_is_no_amount_is_refused(budget: str) -> None:
    with pytest.raises(UsageError, match="no amount of memory"):
        slots_in(budget, [ROOM], "m")


def test_a_bare_number_above_one_asks_for_its_unit() -> None:
    with pytest.raises(UsageError, match="Write 2GiB"):
        slots_in("2", [ROOM], "m")


def test_what_does_not_fit_is_told_with_figures() -> None:
    with pytest.raises(OutOfMemory, match=r"8GiB does not fit beside m: it takes 8.00 GiB on cpu, where 4.00 GiB"):
        slots_in("8GiB", [ROOM], "m")
    with pytest.raises(OutOfMemory, match=r"no token of m: one takes 1.0 KiB"):
        slots_in("100B", [ROOM], "m")
    with pytest.raises(OutOfMemory, match=r"weights of m take 5.00 GiB; 4.00 GiB are free"):
        check_weights_fit("m", 5 * GIB, 4 * GIB)


def test_the_free_memory_of_this_machine_is_found() -> None:
    assert 2**20 < free_bytes(torch.device("cpu")) < 2**50


def test_a_container_bounds_what_is_free(tmp_path: Path) -> None:
    assert _left_in_cgroup(tmp_path) == 2**62
    (tmp_path / "memory.max").write_text("1000\n")
    (tmp_path / "memory.current").write_text("700\n")
    (tmp_path / "memory.stat").write_text("anon 500\ninactive_file 200\n")
    assert _left_in_cgroup(tmp_path) == 500
    (tmp_path / "memory.max").write_text("max\n")
    assert _left_in_cgroup(tmp_path) == 2**62
