"""Files of lines: nothing half is ever read, nothing whole is ever lost."""

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from flare_local.errors import DiskFull, RunFault
from flare_local.runs.log import Log


def lines(path: Path) -> list[Any]:
    """The lines of a log, through opening it."""
    seen: list[Any] = []
    Log(path, seen.append).close()
    return seen


@pytest.fixture
def path(tmp_path: Path) -> Path:
    log = Log(tmp_path / "log.jsonl", lambda line: None)
    for number in range(3):
        log.append({"n": number, "text": "naïve\n"})
    log.close()
    return log.path


def test_lines_come_back(path: Path) -> None:
    assert [line["n"] for line in lines(path)] == [0, 1, 2]
    assert path.read_bytes().count(b"\n") == 3


def test_a_torn_end_is_cut_off_wherever_it_is_torn(path: Path) -> None:
    whole = path.read_bytes()
    last = whole.rstrip(b"\n").rfind(b"\n") + 1
    for end in range(last, len(whole)):
        path.write_bytes(whole[:end])
        assert [line["n"] for line in lines(path)] == [0, 1]
        assert path.read_bytes() == whole[:last]


@pytest.mark.parametrize("end", [b"\0" * 50, b"\0" * 50 + b"\n", b'{"n"\n', b"[1]\n", b"\xff\xfe\n\n"])
def test_an_end_that_is_no_line_is_cut_off(path: Path, end: bytes) -> None:
    whole = path.read_bytes()
    path.write_bytes(whole + end)
    assert len(lines(path)) == 3
    assert path.read_bytes() == whole


def test_a_broken_line_in_the_middle_is_refused(path: Path) -> None:
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b'{"n": 1', b'{"n" 1'))
    with pytest.raises(RunFault, match=r"Line 2 of .*log.jsonl is broken"):
        lines(path)
    assert len(path.read_bytes()) == len(whole) - 1  # left as it was


def test_writing_goes_on_after_a_repair(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-4])
    log = Log(path, lambda line: None)
    log.append({"n": 9})
    log.close()
    assert [line["n"] for line in lines(path)] == [0, 1, 9]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS])
def test_a_disk_that_fills_up_in_the_middle_of_a_line(path: Path, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = path.read_bytes()
    log = Log(path, lambda line: None)
    write = os.write

    def half(file: int, data: Any) -> int:
        if len(data) < 30:
            raise OSError(number, os.strerror(number))
        return write(file, data[: len(data) - 20])

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", half)
        with pytest.raises(DiskFull, match=r"log\.jsonl"):
            log.append({"n": 3, "text": "x" * 100})
    assert path.read_bytes() == whole
    log.append({"n": 4})
    log.close()
    assert [line["n"] for line in lines(path)] == [0, 1, 2, 4]


def test_a_disk_that_is_full_when_it_is_synced(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = path.read_bytes()
    log = Log(path, lambda line: None)

    def full(file: int) -> None:
        raise OSError(errno.ENOSPC, "full")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(DiskFull, match="The disk is full"):
            log.append({"n": 3})
    log.close()
    assert path.read_bytes() == whole


def test_a_file_that_cannot_be_opened_says_so(tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").mkdir()
    with pytest.raises(DiskFull, match="cannot be written"):
        lines(tmp_path / "log.jsonl")
