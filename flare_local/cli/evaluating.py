"""Rows of an evaluation answered one after the other, on one model and one index; a killed one goes on."""

from collections.abc import Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from flare_local.cli import interrupt
from flare_local.cli.batch_progress import BatchProgress
from flare_local.cli.bound import settings_asked, settings_opened
from flare_local.cli.console import err
from flare_local.cli.opening import Task, open_retriever, task_of, with_exemplar_documents
from flare_local.cli.sources import Options
from flare_local.cli.start import start
from flare_local.config import RetrievalOptions
from flare_local.errors import DiskFull
from flare_local.evaluation.folder import Plan, begin, take_folder
from flare_local.evaluation.ranks import Ranks, own_device
from flare_local.evaluation.row import Row
from flare_local.runs.at_once import AnswerOne
from flare_local.runs.folder import ERRORS, HEAD, RunFolder
from flare_local.runs.questions import Asked
from flare_local.runs.record import Record
from flare_local.runs.shards import SHARD, done, merge, remove, shard
from flare_local.runs.work import Work
from flare_local.trace.events import Answer

if TYPE_CHECKING:
    from flare_local.engine.engine import Engine
    from flare_local.retrieval.index import Index
    from flare_local.served.model import ServedModel


@dataclass(frozen=True)
class How:
    """What changes no answer."""

    concurrency: int
    retry_failed: bool = False
    calls: bool = False  # write every call of the model with its prompt too
    force_new: bool = False


@dataclass(frozen=True)
class Planned:
    """One row with all that its questions are asked with."""

    plan: Plan
    row: Row
    options: Options
    task: Task

    @property
    def folder(self) -> Path:
        """Of its run."""
        return self.plan.folder / self.row.name

    @property
    def asked(self) -> list[Asked]:
        """All questions of the dataset: the run is bound to them, so that --limit can change."""
        return [item.asked for item in self.plan.dataset.items]

    def pending(self, retry_failed: bool) -> list[Asked]:
        """The chosen questions that nobody has answered yet, in order."""
        gone = done(self.folder, retry_failed=retry_failed)
        return [item.asked for item in self.plan.items if item.id not in gone]


def planned(plan: Plan, row: Row, options: Options) -> Planned:
    """A row with `options`. Raises `UsageError` for options that make no sense together."""
    return Planned(plan, row, options, task_of(options))


@dataclass
class Bench:
    """What all rows share, opened when the first of them needs it; `opened` closes it."""

    opened: ExitStack
    engine: "Engine | ServedModel | None" = None
    question_engine: "Engine | None" = None
    indexes: "dict[RetrievalOptions, Index]" = field(default_factory=dict)
    renewed: set[Path] = field(default_factory=set)  # folders that were begun anew: once a command, --force-new or not

    def open(self, rows: Sequence[Planned]) -> None:
        """Opens the model, and the first index beside it."""
        if self.engine is not None:
            return
        lead = max(rows, key=lambda each: (each.options.method.question_model is not None, each.task.method.retrieves))
        model = replace(lead.options.model, device=own_device(lead.options.model.device))
        options = replace(lead.options, model=model)
        _, index, self.engine, self.question_engine = start(lead.task, options, self.opened)
        if index is not None:
            self.indexes[lead.options.retrieval] = index

    def index(self, row: Planned) -> "Index | None":
        """The index of a row, None where it does not search."""
        if not row.task.method.retrieves:
            return None
        asked = row.options.retrieval
        if asked not in self.indexes:
            self.indexes[asked] = open_retriever(asked)
            self.opened.callback(self.indexes[asked].close)
        return self.indexes[asked]

    def asker(self, row: Planned) -> "Engine | None":
        """The model that writes the row's questions, where it is another one."""
        return self.question_engine if row.options.method.question_model is not None else None

    def settings(self, row: Planned) -> dict[str, object]:
        """Everything that the row's answers are bound to."""
        assert self.engine is not None
        opened = settings_opened(self.engine, self.asker(row), self.index(row))
        return settings_asked(row.task, row.options) | opened


def evaluate(rows: Sequence[Planned], bench: Bench, how: How, ranks: Ranks) -> None:
    """Answers all chosen questions of all rows that have no answer yet, each on the disk as soon as it is done.

    With several ranks each answers its share. Raises `RunFault` where a folder is bound to other settings, `DiskFull`.
    """
    renew = {row.folder for row in rows} - bench.renewed if how.force_new else set()
    with ExitStack() as held:
        folders: dict[Path, RunFolder] = {}
        if ranks.first:
            for plan in {row.plan.folder: row.plan for row in rows}.values():
                held.callback(take_folder(plan.folder).release, remove=False)
                begin(plan)
            for row in rows:
                folders[row.folder] = held.enter_context(RunFolder(row.folder))
                _check(row, folders[row.folder], renew)
        ranks.wait()
        if renew or any(row.pending(how.retry_failed) for row in rows):
            bench.open(rows)
            for row in rows if ranks.first else ():
                _begin(row, folders[row.folder], bench, renew)
            bench.renewed |= renew
            ranks.wait()
            mine = [row.pending(how.retry_failed)[ranks.rank :: ranks.size] for row in rows]
            ranks.wait()
            for number, (row, pending) in enumerate(zip(rows, mine, strict=True), 1):
                if pending:
                    if ranks.first:
                        err().print(f"{row.row.title} ({row.plan.title}), row {number} of {len(rows)}")
                    _answer(row, pending, folders.get(row.folder), bench, how, ranks)
            ranks.wait()
        for folder in folders.values():
            _merge(folder)


def _check(row: Planned, folder: RunFolder, renew: set[Path]) -> None:
    """Refuses a run of other settings before anything is loaded, and takes in what other ranks have left."""
    if row.folder in renew:
        for path in row.folder.glob(f"{SHARD}*"):
            remove(path)
    elif folder.begun:
        folder.check(settings_asked(row.task, row.options), row.asked)
        _merge(folder)


def _begin(row: Planned, folder: RunFolder, bench: Bench, renew: set[Path]) -> None:
    settings = bench.settings(row)
    if folder.begun and row.folder not in renew:
        folder.check(settings, row.asked)
    else:
        folder.begin(settings, row.asked)


def _merge(folder: RunFolder) -> None:
    if folder.begun and any(folder.path.glob(f"{SHARD}*")):
        with closing(Record(folder.path, folder.run)) as record:
            merge(folder.path, record, folder.run)


def _answer(row: Planned, pending: list[Asked], folder: RunFolder | None, bench: Bench, how: How, ranks: Ranks) -> None:
    """This rank's share of one row."""
    with ExitStack() as opened:
        if folder is None:
            folder = opened.enter_context(RunFolder(shard(row.folder, ranks.rank)))
            folder.begin(bench.settings(row), row.asked)
        record = opened.enter_context(closing(Record(folder.path, folder.run)))
        work = Work(pending, record, calls=how.calls)
        progress = opened.enter_context(BatchProgress(err(), work.tally))
        if ranks.first:
            work.tell = progress
        answer = answering(row, bench)
        try:
            interrupt.run(work.run(answer, progress.interrupted, concurrency=how.concurrency))
        finally:
            assert bench.engine is not None
            pools = [bench.engine.pool_use] + [asker.pool_use for asker in [bench.asker(row)] if asker is not None]
            with suppress(DiskFull):  # said already
                record.session({"concurrency": how.concurrency, **work.tally.as_dict(*pools)})


def answering(row: Planned, bench: Bench) -> AnswerOne:
    """What answers a question as the row has it."""
    from flare_local.api import Ask

    index, engine = bench.index(row), bench.engine
    assert engine is not None
    task = with_exemplar_documents(row.task, row.options, index)

    async def answer(one: Asked) -> Answer:
        return await Ask(task.method).answer(
            engine,
            index,
            one.question,
            exemplars=task.exemplars,
            rules=task.rules,
            chat=row.options.model.chat_template,
            question_engine=bench.asker(row),
        )

    return answer


def failures(rows: Sequence[Planned]) -> list[str]:
    """Each row with questions that have no answer, in words."""
    found = []
    for row in rows:
        if not (row.folder / HEAD).exists():
            continue
        missing = row.pending(retry_failed=True)
        if missing:
            found.append(f"{len(missing)} of {row.row.title} ({row.folder / ERRORS})")
    return found
