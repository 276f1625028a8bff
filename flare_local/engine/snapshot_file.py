"""The file that a snapshot is written to: beside its target, then renamed, so that it is there whole or not at all."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from flare_local.engine.memory import gib
from flare_local.engine.snapshot import DIGEST, digest
from flare_local.engine.snapshot_header import FORMAT, Header
from flare_local.errors import DiskFull, UsageError

ELSEWHERE = "Give --out a file on a disk that can be written."


class SnapshotFile:
    """Where a snapshot will be. Made before the work, so that a place where nothing can be written costs no work."""

    def __init__(self, path: Path) -> None:
        """Raises `UsageError` where `path` is something else than an old snapshot, `DiskFull` where it cannot be
        written. The folder is made if it is not there.
        """
        self.path = Path(os.path.realpath(path))
        self._beside = self.path.with_name(f".{self.path.name}.{os.getpid()}.unfinished")
        if os.path.exists(path) and not (os.path.isfile(path) and _is_snapshot(path)):
            raise UsageError(f"{path} exists and is no snapshot; it is not replaced.", "Give --out another name.")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._beside.touch()
            self._beside.unlink()
        except OSError as error:
            raise DiskFull(f"{path} cannot be written: {error.strerror}.", ELSEWHERE) from None

    def write(self, header: Header, tensors: Mapping[str, torch.Tensor]) -> int:
        """Writes all of it; says how many bytes. Raises `DiskFull`; what was there before is then as it was."""
        size = sum(tensor.nbytes for tensor in tensors.values())
        whole = {**header.as_metadata(), DIGEST: digest(header, sorted(tensors.items()))}
        try:
            free = shutil.disk_usage(self.path.parent).free
            if size > free:
                raise DiskFull(f"{self.path} cannot be written: it takes {gib(size)}, {gib(free)} are free.", ELSEWHERE)
            save_file(dict(tensors), self._beside, whole)
            self._beside.chmod(0o644)
            _sync(self._beside)
            self._beside.replace(self.path)
            _sync(self.path.parent)
        except (OSError, SafetensorError) as error:
            raise DiskFull(f"{self.path} cannot be written: {' '.join(str(error).split())}.", ELSEWHERE) from None
        finally:
            self._beside.unlink(missing_ok=True)
        return self.path.stat().st_size


def _is_snapshot(path: Path) -> bool:
    try:
        with safe_open(path, framework="pt") as file:
            family = FORMAT.rpartition(" ")[0]
            return str((file.metadata() or {}).get("format", "")).startswith(family)
    except (SafetensorError, OSError):
        return False


def _sync(path: Path) -> None:
    """Puts a file, or a folder's list of files, on the disk."""
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)
