"""A run that several processes work on: each but the first writes into a shard, a run of its own inside the folder."""

import shutil
from pathlib import Path

from flare_local.runs.folder import ERRORS, HEAD, RESULTS, RunFolder
from flare_local.runs.log import Line, not_written, read_lines
from flare_local.runs.record import Record

SHARD = "shard-"  # and the rank of its process


def shard(folder: Path, rank: int) -> Path:
    """Where the process of that rank writes; the first writes into the run itself."""
    return folder / f"{SHARD}{rank}" if rank else folder


def merge(folder: Path, record: Record, run: str) -> None:
    """Takes all shards of `run` into its record and removes them. Killed at any moment, it can be done again.

    Raises `RunFault` where a process still works on one, `DiskFull`.
    """
    for path in sorted(folder.glob(f"{SHARD}*")):
        with RunFolder(path) as other:
            if other.begun and other.run == run:
                record.take(path)
        remove(path)


def remove(path: Path) -> None:
    """Removes a shard; without its head, which goes first, the rest is no run."""
    try:
        (path / HEAD).unlink(missing_ok=True)
        shutil.rmtree(path)
    except OSError as error:
        raise not_written(error, path) from None


def done(folder: Path, *, retry_failed: bool) -> set[str]:
    """Ids that need no answer any more, read without taking the lock: while nobody writes."""
    found: set[str] = set()

    def visit(line: Line) -> None:
        found.add(str(line.get("id")))

    for name in (RESULTS,) if retry_failed else (RESULTS, ERRORS):
        if (folder / name).exists():
            read_lines(folder / name, visit)
    return found
