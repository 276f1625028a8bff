"""Hints at what is ambiguous about a question (paper, ASQA-hint): a JSON object a line, `id` and `hint`."""

from dataclasses import replace
from pathlib import Path

from flare_local.datasets.fields import Fields
from flare_local.datasets.item import Item
from flare_local.datasets.rows import Fault, read_rows
from flare_local.errors import UsageError
from flare_local.runs.questions import file_bytes

MARK = "Hint:"  # between question and hint (`flare_local.tasks.exemplars.split_hint`)


def read_hints(path: Path) -> tuple[dict[str, str], list[Fault]]:
    """Hints by the ids of their questions, and the lines that cannot be read. The names of the released program's file,
    `qid` and `output`, will do too. Raises `UsageError` where the file cannot be read at all.
    """
    hints: dict[str, str] = {}
    faults = []
    for row in read_rows(file_bytes(path, "hint"), str(path)):
        if isinstance(row, Fault):
            faults.append(row)
            continue
        try:
            fields = Fields(row.value, row.place)
            id = fields.id("qid" if "qid" in fields else "id")
            hint = fields.text("output" if "output" in fields else "hint")
            if MARK in hint:
                raise fields.fault(f"the hint holds {MARK!r}.", "Leave that word out.")
            if id in hints:
                raise fields.fault(f"the id {id!r} has a hint already.")
            hints[id] = hint
        except UsageError as error:
            faults.append(Fault(row.line, str(error)))
    return hints, faults


def with_hint(item: Item, hint: str) -> Item:
    """The item as it is asked with a hint."""
    return replace(item, question=f"{item.question} {MARK} {hint}", hint=hint)
