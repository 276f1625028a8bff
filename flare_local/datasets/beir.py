"""A folder in BEIR's form, as FLARE's authors released theirs: queries.jsonl, corpus.jsonl, qrels."""

from collections.abc import Mapping
from pathlib import Path

from flare_local.datasets.fields import Fields
from flare_local.datasets.item import Item
from flare_local.datasets.rows import Fault
from flare_local.datasets.simple import simple_item
from flare_local.runs.questions import file_bytes, raw_lines

QUERIES, CORPUS = "queries.jsonl", "corpus.jsonl"
Qrels = Mapping[str, tuple[str, ...]]  # id of a question -> ids of the documents that its answer is in


def beir_item(fields: Fields, line: int, qrels: Qrels) -> Item:
    """A row of queries.jsonl: `_id`, `text`, and in `metadata` what simple JSONL has too. Raises `UsageError`."""
    id = fields.id("_id")
    inner = dict(Fields(fields.value.get("metadata") or {}, f"{fields.place}: metadata").value)
    row = {**inner, "id": id, "question": fields.text("text")}
    row.setdefault("supporting_ids", list(qrels.get(id, ())))
    return simple_item(Fields(row, fields.place), line)


def read_qrels(folder: Path, split: str) -> tuple[dict[str, tuple[str, ...]], list[Fault], str | None]:
    """What qrels/{split}.tsv says, its faults, and what is missing of it. Scores of 0 are no support."""
    path = folder / "qrels" / f"{split}.tsv"
    if not path.is_file():
        return {}, [], f"{path} is missing: retrieval cannot be judged."
    found: dict[str, dict[str, None]] = {}
    faults = []
    for number, line in raw_lines(file_bytes(path, "qrels")):
        cells = line.decode("utf-8", "replace").removesuffix("\r").split("\t")
        if (number == 1 and cells[-1].strip() == "score") or cells == [""]:
            continue
        if len(cells) != 3 or not cells[2].strip().lstrip("-").isdigit():
            faults.append(Fault(number, f"{path}:{number}: not query id, tab, document id, tab, score."))
        elif int(cells[2]) > 0:
            found.setdefault(cells[0], {})[cells[1]] = None
    return {id: tuple(documents) for id, documents in found.items()}, faults, None
