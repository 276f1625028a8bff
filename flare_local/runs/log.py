"""A file of JSON lines that only grows: a line is there whole and on the disk, or not at all."""

import errno
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from flare_local.errors import DiskFull, RunFault

Line = dict[str, Any]


class Log:
    """Appends one line at a time, each with fsync. Invariant: `size` bytes of whole lines, and nothing after them."""

    def __init__(self, path: Path, visit: Callable[[Line], None]) -> None:
        """Opens or makes `path` and shows each line that is there to `visit`. What a killed process left of a last line
        is cut off.

        Raises `RunFault` where a line in the middle is broken, `DiskFull` where the file cannot be written.
        """
        self.path = path
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        except OSError as error:
            raise not_written(error, path) from None
        try:
            self.size = read_lines(path, visit)
            os.ftruncate(self._file, self.size)
            os.fsync(self._file)
            sync_folder(path.parent)
        except OSError as error:
            self.close()
            raise not_written(error, path) from None
        except BaseException:
            self.close()
            raise

    def append(self, line: Mapping[str, object]) -> None:
        """Writes `line`, which is on the disk when this returns. Raises `DiskFull`; the file is then as before."""
        data = memoryview(json.dumps(line, allow_nan=False).encode() + b"\n")
        total = len(data)
        try:
            while data:
                data = data[os.write(self._file, data) :]
            os.fsync(self._file)
        except OSError as error:
            os.ftruncate(self._file, self.size)
            raise not_written(error, self.path) from None
        self.size += total

    def close(self) -> None:
        """Closes the file."""
        os.close(self._file)


def read_lines(path: Path, visit: Callable[[Line], None]) -> int:
    """Shows each JSON object of `path` to `visit`; says how many bytes they take. A torn end is left out.

    After a power cut the end may also be zeros. Raises `RunFault` where a broken line has a whole one after it.
    """
    whole = position = 0  # bytes up to the end of the last whole line, and up to the end of this line
    broken = 0  # number of a line that cannot be read
    with path.open("rb") as file:
        for number, raw in enumerate(file, 1):
            position += len(raw)
            line = _object(raw)
            if line is None:
                broken = broken or number
            elif broken:
                raise RunFault(
                    f"Line {broken} of {path} is broken, and others follow it: something else has changed the file.",
                    "Take that line out, or start afresh with --force-new.",
                )
            else:
                visit(line)
                whole = position
    return whole


def _object(raw: bytes) -> Line | None:
    if not raw.endswith(b"\n"):
        return None
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def write_whole(path: Path, text: str) -> None:
    """Makes or replaces `path`: whole, or as it was. Raises `DiskFull`."""
    beside = path.with_name(path.name + ".new")
    try:
        with beside.open("w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        raise not_written(error, path) from None


def sync_folder(folder: Path) -> None:
    """Puts the folder's list of files on the disk."""
    file = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def not_written(error: OSError, path: Path) -> DiskFull:
    """A failed write in the user's words."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return DiskFull(
            f"The disk is full: {path} cannot grow; what it holds is whole.",
            "Free some space and run the same command again.",
        )
    return DiskFull(
        f"{path} cannot be written: {error.strerror or error}.", "Give --out a folder on a disk that can be written."
    )
