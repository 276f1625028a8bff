"""A lock on a folder: one process at a time, and free again when that process ends, however it ends."""

import fcntl
import os
from pathlib import Path

from flare_local.errors import RunFault
from flare_local.runs.log import not_written


class Lock:
    """Held from the moment it is made until `release`."""

    def __init__(self, path: Path) -> None:
        """Raises `RunFault` where another process holds it."""
        self._path = path
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise not_written(error, path) from None
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(self._file, 20).decode("ascii", "replace").strip() or "unknown"
            os.close(self._file)
            raise RunFault(
                f"Another process (id {holder}) is working on {path.parent}.", "Wait for it, or give another --out."
            ) from None
        if not self._is_current():  # its last holder has just taken the whole folder away
            os.close(self._file)
            raise RunFault(f"{path.parent} was removed at this moment.", "Run the same command again.")
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, f"{os.getpid()}\n".encode(), 0)

    def release(self, *, remove: bool) -> None:
        """Gives the lock back; `remove` takes its file away too."""
        if remove:
            self._path.unlink(missing_ok=True)
        os.close(self._file)

    def _is_current(self) -> bool:
        try:
            return os.path.samestat(os.fstat(self._file), os.stat(self._path))
        except FileNotFoundError:
            return False
