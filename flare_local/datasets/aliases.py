"""2WikiMultihopQA's id_aliases.json: other names of an answer by its Wikidata id, an object a line."""

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from flare_local.datasets.fields import Fields, unique
from flare_local.datasets.item import Item
from flare_local.datasets.rows import Fault, read_rows
from flare_local.errors import UsageError
from flare_local.runs.questions import file_bytes

NAME = "id_aliases.json"


def read_aliases(path: Path, wanted: Collection[str]) -> tuple[dict[str, tuple[str, ...]], list[Fault]]:
    """Aliases of the ids that are `wanted`, and the lines that cannot be read. `demonyms` are left alone, as the
    released program leaves them. Raises `UsageError` where the file cannot be read at all.
    """
    found: dict[str, tuple[str, ...]] = {}
    faults = []
    for row in read_rows(file_bytes(path, "alias"), str(path)):
        if isinstance(row, Fault):
            faults.append(row)
            continue
        try:
            fields = Fields(row.value, row.place)
            id = fields.text("Q_id")
            if id in wanted and fields.value.get("aliases"):
                found[id] = found.get(id, ()) + fields.texts("aliases")
        except UsageError as error:
            faults.append(Fault(row.line, str(error)))
    return found, faults


def with_aliases(item: Item, aliases: dict[str, tuple[str, ...]]) -> Item:
    """The item with the aliases of its answer behind its answers."""
    return replace(item, answers=unique(item.answers + aliases.get(item.answer_id, ())))
