"""The folder in which an index is built, beside its target; the target appears whole or not at all."""

import fcntl
import os
import shutil
from pathlib import Path
from typing import Self

from flare_local.errors import DiskFull, UsageError
from flare_local.retrieval.locate import BUILDING
from flare_local.retrieval.manifest import MANIFEST_FILE

LOCK_FILE = "building.lock"  # locked by the builder for as long as it lives, so that a killed one's leavings are known


class BuildFolder:
    """`.NAME.flare-building` beside NAME. Made by `claim`; ends with `publish` or `discard`."""

    def __init__(self, target: Path, path: Path, lock: int) -> None:
        self.target = target
        self.path = path
        self._lock = lock  # file descriptor

    @classmethod
    def claim(cls, target: Path, force: bool) -> Self:
        """Make the folder, after clearing what a killed build left. Raises `UsageError` where the target exists or is
        being built by another process, `DiskFull` where nothing can be written."""
        target = Path(os.path.abspath(target))
        if not target.name:
            raise UsageError(f"{target} cannot be the folder of an index.", "Choose another folder with --out.")
        path, old = _beside(target, BUILDING), _beside(target, ".flare-old")
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            if old.exists():  # killed between the two renames of `publish`
                shutil.rmtree(old) if target.exists() else old.rename(target)
            _check_target(target, force)
            path.mkdir(exist_ok=True)
            lock = os.open(path / LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise _unwritable(target, error) from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(lock)
            if isinstance(error, BlockingIOError):
                raise UsageError(f"{target} is being built by another process.", "Wait for it, or end it.") from error
            raise _unwritable(target, error) from error
        for leaving in path.iterdir():
            if leaving.name != LOCK_FILE:
                shutil.rmtree(leaving) if leaving.is_dir() else leaving.unlink()
        return cls(target, path, lock)

    def publish(self) -> None:
        """Put the finished folder in the target's place. Raises `DiskFull`; the old index is then as it was."""
        old = _beside(self.target, ".flare-old")
        try:
            (self.path / LOCK_FILE).unlink()
            if self.target.exists():
                self.target.rename(old)
            self.path.rename(self.target)
        except BaseException as error:
            if old.exists() and not self.target.exists():
                old.rename(self.target)
            if isinstance(error, OSError):
                raise _unwritable(self.target, error) from error
            raise
        shutil.rmtree(old, ignore_errors=True)
        os.close(self._lock)

    def discard(self) -> None:
        """Remove everything that was built."""
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock)


def _beside(target: Path, ending: str) -> Path:
    return target.with_name(f".{target.name}{ending}")


def _check_target(target: Path, force: bool) -> None:
    for folder in target.parents:
        if (folder / MANIFEST_FILE).exists():
            raise UsageError(f"{target} lies inside the index {folder}.", "Choose another folder with --out.")
    if not target.exists():
        return
    if not target.is_dir():
        raise UsageError(f"{target} is a file.", "Choose another name with --out.")
    names = os.listdir(target)
    if not names:
        return
    if not force:
        raise UsageError(f"{target} exists already.", "Replace it with --force, or choose another name with --out.")
    if MANIFEST_FILE not in names and not any(name.startswith("segments_") for name in names):
        raise UsageError(f"{target} holds something that is not an index; it is not replaced.", "Choose another name.")


def _unwritable(target: Path, error: OSError) -> DiskFull:
    return DiskFull(f"{target} cannot be written: {error.strerror}.", "Choose another folder with --out.")
