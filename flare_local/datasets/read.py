"""Reads a dataset in whatever form its users have it: as released, in BEIR's form, or as simple JSONL."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from flare_local.datasets import aliases as alias_file
from flare_local.datasets import asqa, multihop, strategyqa, wikiasp
from flare_local.datasets.beir import QUERIES, beir_item, read_qrels
from flare_local.datasets.fields import Fields
from flare_local.datasets.hints import read_hints, with_hint
from flare_local.datasets.item import Item
from flare_local.datasets.kinds import Kind, kind_of
from flare_local.datasets.rows import Fault, Row, Rows, read_rows
from flare_local.datasets.simple import simple_item
from flare_local.errors import UsageError
from flare_local.runs.questions import check_asked, file_bytes

SHOWN = 3  # faults that an error names; `flare-local data check` names all
ItemOf = Callable[[Fields, Row, int], tuple[str, Item]]  # fields, row, its number from 1 -> form, item


@dataclass(frozen=True)
class Dataset:
    """What was read of a dataset."""

    task: str
    path: Path
    form: str  # how its rows are written
    items: tuple[Item, ...]
    faults: tuple[Fault, ...]  # rows that cannot be used
    missing: tuple[str, ...]  # what the files do not say, and what follows from that

    @property
    def hash(self) -> str:
        """sha256 of all items: questions and what they are judged by."""
        return items_hash(self.items)


def items_hash(items: tuple[Item, ...]) -> str:
    """sha256 of items, wherever they were read from."""
    values = [{**item.as_dict(), "line": 0} for item in items]
    return sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


def load_items(
    path: Path,
    task: str,
    *,
    aliases: Path | str | None = None,
    hints: Path | str | None = None,
    split: str | None = None,
) -> Dataset:
    """As `read_dataset`, for use: raises `UsageError` where any row cannot be used, or none is there."""
    read = read_dataset(path, task, aliases=aliases, hints=hints, split=split)
    if read.faults:
        first = " ".join(fault.text for fault in read.faults[:SHOWN])
        raise UsageError(
            f"{len(read.faults)} rows of {path} cannot be used: {first}",
            f"`flare-local data check {path} --task {task}` lists them all.",
        )
    if not read.items:
        raise UsageError(f"{path} holds no questions for {task}.", " ".join(read.missing))
    return read


def read_dataset(
    path: Path,
    task: str,
    *,
    aliases: Path | str | None = None,
    hints: Path | str | None = None,
    split: str | None = None,
) -> Dataset:
    """All items of a file or folder that can be used, and all rows that cannot, by line.

    `aliases` is 2WikiMultihopQA's file of aliases, by default the one beside `path`; `hints` a file of hints; `split`
    the part that is read where one file or folder holds several. Raises `UsageError` where nothing can be read at all.
    """
    kind = kind_of(task)
    work = _Reading(kind, path, split or kind.split)
    if path.is_dir():
        work.read_folder()
    else:
        holder = (split or kind.split) if kind.holder == "" else kind.holder
        work.read(read_rows(file_bytes(path, "data"), str(path), holder), work.item)
    work.add_aliases(None if aliases is None else Path(aliases))
    if task == "asqa-hint":
        work.add_hints(None if hints is None else Path(hints))
    work.note_missing()
    form = ", ".join(sorted(work.forms)) or "nothing that can be used"
    return Dataset(task, path, form, tuple(work.items.values()), tuple(work.faults), tuple(work.missing))


@dataclass
class _Reading:
    """Grows while a dataset is read."""

    kind: Kind
    path: Path
    split: str
    items: dict[str, Item] = field(default_factory=dict)
    places: dict[str, str] = field(default_factory=dict)  # of the items
    faults: list[Fault] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    forms: set[str] = field(default_factory=set)
    titles: dict[str, str] = field(default_factory=dict)  # of WikiAsp's articles

    def read_folder(self) -> None:
        """Reads a folder in one of the forms that are folders."""
        folder = self.path
        if (folder / QUERIES).is_file():
            qrels, faults, missing = read_qrels(folder, self.split)
            self.faults += faults
            self.missing += [missing] if missing else []
            rows = read_rows(file_bytes(folder / QUERIES, "data"), str(folder / QUERIES))
            self.read(rows, lambda fields, row, number: ("BEIR", beir_item(fields, row.line, qrels)))
        elif self.kind.name != "wikiasp":
            raise UsageError(
                f"{folder} is a folder without {QUERIES}.", f"For {self.kind.name} give {self.kind.files}."
            )
        else:
            self.titles = wikiasp.read_titles(folder)
            is_arrow = any(folder.glob("*.arrow"))
            self.read(wikiasp.arrow_rows(folder) if is_arrow else wikiasp.domain_rows(folder, self.split), self.item)

    def item(self, fields: Fields, row: Row, number: int) -> tuple[str, Item]:
        """A row of a file, as released or simple."""
        name = self.kind.name
        if name in ("2wiki", "hotpotqa") and multihop.is_multihop(fields):
            return "as released", multihop.multihop_item(fields, row.line)
        if name == "strategyqa" and strategyqa.is_bigbench(fields):
            return "BIG-bench", strategyqa.bigbench_item(fields, row.line, number)
        if name == "strategyqa" and strategyqa.is_strategyqa(fields):
            return "as released", strategyqa.strategyqa_item(fields, row.line)
        if name in ("asqa", "asqa-hint") and asqa.is_asqa(fields):
            return "as released", asqa.asqa_item(fields, row.line, row.key)
        if name == "wikiasp" and wikiasp.is_wikiasp(fields):
            if not self.path.is_dir() and not self.titles:
                self.titles = wikiasp.read_titles(self.path.parent)
            return "as released", wikiasp.wikiasp_item(fields, row.line, self.titles)
        return "simple", simple_item(fields, row.line)

    def read(self, rows: Rows, item_of: ItemOf) -> None:
        """Takes in rows; one that cannot be used is a fault and no item."""
        for number, row in enumerate(rows, 1):
            if isinstance(row, Fault):
                self.faults.append(row)
                continue
            try:
                form, item = item_of(Fields(row.value, row.place), row, number)
                self._check(item, row)
            except UsageError as error:
                self.faults.append(Fault(row.line, str(error)))
                continue
            self.items[item.id], self.places[item.id] = item, row.place
            self.forms.add(form)

    def _check(self, item: Item, row: Row) -> None:
        check_asked(item.id, item.question, row.place)
        if item.id in self.items:
            raise UsageError(f"{row.place}: the id {item.id!r} is that of {self.places[item.id]} too.")
        if fault := self.kind.fault(item):
            raise UsageError(f"{row.place}: {fault}")

    def add_aliases(self, path: Path | None) -> None:
        """Puts aliases behind the answers that have an id."""
        wanted = {item.answer_id for item in self.items.values() if item.answer_id}
        beside = (self.path if self.path.is_dir() else self.path.parent) / alias_file.NAME
        if path is None and (not wanted or not beside.is_file()):
            if self.kind.name == "2wiki":
                self.missing.append(
                    f"No {alias_file.NAME} beside the file: only the gold answers count as right, not their aliases."
                    if wanted
                    else "The rows have no answer_id: only the answers in them count as right, no aliases."
                )
            return
        found, faults = alias_file.read_aliases(path or beside, wanted)
        self.faults += faults
        self.items = {id: alias_file.with_aliases(item, found) for id, item in self.items.items()}
        self.forms.add("aliases")

    def add_hints(self, path: Path | None) -> None:
        """Asks every question with its hint; those without one are left out."""
        hints: dict[str, str] = {}
        if path is not None:
            hints, faults = read_hints(path)
            self.faults += faults
        hints = {id: item.hint for id, item in self.items.items() if item.hint} | hints
        without = len(self.items.keys() - hints.keys())
        if without:
            self.missing.append(
                f"{without} questions have no hint and are left out: `flare-local data hints` writes them, --hints "
                "takes them."
            )
        self.items = {id: with_hint(item, hints[id]) for id, item in self.items.items() if id in hints}

    def note_missing(self) -> None:
        """Says what the items lack that would be of use."""
        items = self.items.values()
        if not items:
            return
        bare = sum(not item.supporting_ids and not item.supporting_titles for item in items)
        if bare and self.kind.name != "wikiasp":
            self.missing.append(f"{bare} questions name no supporting documents: retrieval cannot be judged there.")
        few = sum(len(item.long_answers) < 2 for item in items)
        if few and self.kind.name in ("asqa", "asqa-hint"):
            self.missing.append(f"{few} questions have fewer than two long answers: ROUGE-L is about those there are.")
        official = self.kind.official
        if official and len(items) not in official:
            counts = " or ".join(f"{count:,}" for count in official)
            self.missing.append(f"{len(items):,} questions; the released files have {counts}.")
