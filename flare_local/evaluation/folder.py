"""The folder of an evaluation: which questions, which rows, and what came of them (docs/eval.md)."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from flare_local.datasets.item import Item
from flare_local.datasets.read import Dataset
from flare_local.errors import RunFault
from flare_local.evaluation.row import Row
from flare_local.runs.lock import Lock
from flare_local.runs.log import not_written, write_whole
from flare_local.trace.versions import versions

HEAD = "eval.json"
ITEMS = "items.jsonl"
SCORES = "scores.json"
VALUES = "values.jsonl"
LOCK = "lock"
FORMAT = 1


@dataclass(frozen=True)
class Plan:
    """What is asked, and how: the rows of one table on one task."""

    folder: Path
    title: str  # of the task
    dataset: Dataset
    items: tuple[Item, ...]  # those that are asked, in order
    rows: tuple[Row, ...]
    limit: int | None = None
    seed: int | None = None

    @property
    def reference(self) -> Row:
        """The row that the others are compared with: FLARE as its task has it, else the last."""
        return next((row for row in self.rows if row.name == "flare_direct"), self.rows[-1])

    def head(self) -> dict[str, object]:
        """What eval.json says."""
        dataset = self.dataset
        return {
            "format": FORMAT,
            "task": dataset.task,
            "title": self.title,
            "data": {
                "path": str(dataset.path),
                "sha256": dataset.hash,
                "questions": len(dataset.items),
                "form": dataset.form,
                "missing": list(dataset.missing),
            },
            "limit": self.limit,
            "seed": self.seed,
            "ids": [item.id for item in self.items],
            "rows": [row.as_dict() for row in self.rows],
            "reference": self.reference.name,
            "versions": versions(),
        }


def take_folder(folder: Path) -> Lock:
    """Locks the folder, which is made if need be. Raises `RunFault` where another process works on it, where it holds
    other things than an evaluation, `DiskFull`.
    """
    if folder.exists() and not folder.is_dir():
        raise RunFault(f"{folder} is not a folder.", "Give --out a new folder, or that of an evaluation.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise not_written(error, folder) from None
    names = {path.name for path in folder.iterdir()} - {LOCK, HEAD + ".new"}
    if names and HEAD not in names:
        raise RunFault(
            f"{folder} holds other things than an evaluation ({min(names)}).",
            "Give --out a new folder, or that of an evaluation.",
        )
    return Lock(folder / LOCK)


def begin(plan: Plan) -> None:
    """Writes what is asked. Raises `RunFault` where the folder is that of another task."""
    path = plan.folder / HEAD
    if path.exists():
        try:
            task = json.loads(path.read_bytes())["task"]
        except (ValueError, KeyError, TypeError):
            raise RunFault(f"{path} cannot be read: it was changed.", "Give another --out.") from None
        if task != plan.dataset.task:
            raise RunFault(f"{plan.folder} evaluates {task}, not {plan.dataset.task}.", "Give another --out.")
    write_whole(path, json.dumps(plan.head(), indent=1) + "\n")
    write_lines(plan.folder / ITEMS, [item.as_dict() for item in plan.items])


def write_lines(path: Path, lines: Sequence[Mapping[str, object]]) -> None:
    """Makes or replaces a file of JSON lines."""
    write_whole(path, "".join(json.dumps(line) + "\n" for line in lines))
