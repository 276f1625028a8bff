"""A file of hints that a language model writes: one a question, on the disk as soon as it is there."""

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from flare_local.datasets.hints import MARK
from flare_local.datasets.item import Item
from flare_local.errors import FlareError, RunFault
from flare_local.runs.lock import Lock
from flare_local.runs.log import Line, Log

WriteHint = Callable[[Item], Awaitable[str]]
Tell = Callable[[int, int], None]  # hints that are there, and how many there are to be


class HintFile:
    """Open while hints are written. Invariant: `written` are the ids of the file, each there once, all of one model.

    One process writes it at a time. Killed at any moment, it holds whole lines, and the next process goes on.
    """

    def __init__(self, path: Path, model: str) -> None:
        """`model`: fingerprint of what writes. Raises `RunFault` where another process writes, where a line is broken,
        or where another model has written; `DiskFull` where the file cannot be written.
        """
        self.path, self.model = path, model
        self.written: dict[str, str] = {}
        self._lock = Lock(path.with_name(path.name + ".lock"))
        try:
            self._log = Log(path, self._read)
        except BaseException:
            self._lock.release(remove=True)
            raise

    def add(self, item: Item, hint: str) -> None:
        """Writes a hint. Raises `DiskFull`; the file is then as before."""
        self._log.append({"id": item.id, "hint": hint, "question": item.question, "model": self.model})
        self.written[item.id] = hint

    def close(self) -> None:
        """Closes the file and gives the lock back."""
        self._log.close()
        self._lock.release(remove=True)

    def _read(self, line: Line) -> None:
        id, hint = line.get("id"), line.get("hint")
        if not isinstance(id, str) or not isinstance(hint, str) or id in self.written:
            raise RunFault(f"{self.path} is no file of hints that this program wrote.", "Give another --out.")
        if line.get("model") != self.model:
            raise RunFault(f"{self.path} holds hints of another model ({line.get('model')}).", "Give another --out.")
        self.written[id] = hint


async def write_hints(
    items: Sequence[Item], write: WriteHint, file: HintFile, tell: Tell, *, concurrency: int
) -> list[str]:
    """Writes the hints that are still to be written, `concurrency` of them at a time; the ids that got none.

    A question that the model has nothing to say of, or that does not fit, gets none; the next call tries it again.
    """
    import asyncio

    waiting = iter([item for item in items if item.id not in file.written])
    failed: list[str] = []

    async def work() -> None:
        for item in waiting:
            try:
                hint = await write(item)
            except FlareError:
                hint = ""
            if hint and MARK not in hint:
                file.add(item, hint)
            else:
                failed.append(item.id)
            tell(len(file.written), len(items))

    workers = [asyncio.ensure_future(work()) for _ in range(concurrency)]
    try:
        await asyncio.gather(*workers)
    finally:
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
    return failed
