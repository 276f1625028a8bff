"""`flare-local reproduce`: tables and figures of the paper on a local model, beside the paper's numbers."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from flare_local.cli.console import err
from flare_local.cli.estimating import estimate, estimate_lines
from flare_local.cli.eval import AT_ONCE, check_counts, fail_where_answers_are_missing
from flare_local.cli.evaluating import Bench, How, Planned, evaluate, planned
from flare_local.cli.judging import JudgeOptions, QaModel, SpacyModel, UniEvalModel
from flare_local.cli.opening import say_what_is_embedded
from flare_local.cli.options import with_options
from flare_local.cli.row_options import of_paper, row_options, with_preset
from flare_local.cli.sources import Options
from flare_local.config import MethodOptions, ModelOptions, RetrievalOptions, Schedule
from flare_local.datasets.item import Item
from flare_local.datasets.kinds import KINDS, kind_of
from flare_local.datasets.read import Dataset, load_items
from flare_local.datasets.subset import AUTHORS_COUNT, authors_subset
from flare_local.errors import UsageError
from flare_local.evaluation.folder import Plan
from flare_local.evaluation.judged import judge_plan
from flare_local.evaluation.paper import TABLES, Block, PaperTable
from flare_local.evaluation.plot import plot
from flare_local.evaluation.ranks import join_ranks
from flare_local.evaluation.reproduced import Part, Reproduced
from flare_local.metrics.judges import Judges
from flare_local.option import options_of
from flare_local.runs.log import write_whole
from flare_local.tasks.presets import PRESETS
from flare_local.trace.versions import versions

ALL = "all"
DEFAULTS = {option.name: option.default for option in options_of(MethodOptions)}


@dataclass(frozen=True)
class Asked:
    """The questions of one task that the tables are made with."""

    dataset: Dataset
    items: tuple[Item, ...]
    which: str  # in words


@with_options(ModelOptions, RetrievalOptions, without={"warm"})
def reproduce(
    options: Options,
    tables: Annotated[
        list[str], typer.Argument(metavar="TABLE", help=f"{', '.join(TABLES)}, or all.", show_default=False)
    ],
    data: Annotated[
        list[str],
        typer.Option("--data", metavar="TASK=FILE", help="Questions of a task; again for more.", show_default=False),
    ],
    out: Annotated[
        Path, typer.Option("--out", metavar="RUN", help="Folder; one that is there goes on.", show_default=False)
    ],
    task_index: Annotated[
        list[str] | None,
        typer.Option("--task-index", metavar="TASK=INDEX", help="A task's own index instead of --index; again."),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(metavar="INTEGER", help="Only the first this many of a task's questions. [as the paper: 500]"),
    ] = None,
    schedule: Annotated[
        Schedule, typer.Option(metavar="paper|released", help="As the paper says or as its authors' program does.")
    ] = "paper",
    aliases: Annotated[
        Path | None, typer.Option(metavar="FILE", help="2WikiMultihopQA's id_aliases.json; unset: beside its file.")
    ] = None,
    hints: Annotated[Path | None, typer.Option(metavar="FILE", help="Hints for asqa-hint.")] = None,
    qa_model: QaModel = None,
    unieval_model: UniEvalModel = None,
    spacy_model: SpacyModel = None,
    concurrency: Annotated[
        int, typer.Option(metavar="INTEGER", help=f"Questions at the same time. [{AT_ONCE}]", show_default=False)
    ] = AT_ONCE,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Try those again that failed before.")] = False,
    force_new: Annotated[bool, typer.Option("--force-new", help="Put old answers aside and begin anew.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Count prompts and estimate the time from a few questions; keep nothing.")
    ] = False,
) -> None:
    """Make tables and figures of the paper: all rows, with intervals, beside the paper's numbers.

    Writes RUN/TABLE.md, .csv and .png. Rows that tables share are answered once. Interrupted or killed, the same
    command goes on where it stopped.
    """
    check_counts(limit=limit, concurrency=concurrency)
    wanted = _tables(tables)
    files, indexes = _by_task(data, "--data"), _by_task(task_index or [], "--task-index")
    options = of_paper(replace(options, method=replace(options.method, schedule=schedule)))
    asked = {
        task: _questions(Path(file), task, limit, aliases if task == "2wiki" else None, hints)
        for task, file in files.items()
        if any(block.task == task for table in wanted for block in table.blocks)
    }
    judging = JudgeOptions(qa_model, unieval_model, spacy_model)
    how = How(concurrency, retry_failed, force_new=force_new)
    work = {table.name: _rows(table, asked, out, options, indexes) for table in wanted}
    rows = [row for planned in work.values() for row in planned]
    if not rows:
        tasks = dict.fromkeys(block.task for table in wanted for block in table.blocks)
        raise UsageError("No --data of any task of these tables.", f"Give --data TASK=FILE for {', '.join(tasks)}.")
    say_what_is_embedded(max(rows, key=lambda each: each.task.method.retrieves).task, options)
    with ExitStack() as opened:
        bench = Bench(opened)
        if dry_run:
            print("\n".join(estimate_lines(estimate(rows, bench, how))))
            return
        ranks = join_ranks()
        judges = {task: judging.open(task) for task in asked} if ranks.first else {}
        for table in wanted:
            err().print(f"{table.name}: {table.title}")
            evaluate(work[table.name], bench, how, ranks)
            if ranks.first:
                _write(_made(table, asked, work[table.name], judges, options), out)
    if ranks.first:
        fail_where_answers_are_missing(list({row.folder: row for row in rows}.values()))


def _tables(names: Sequence[str]) -> list[PaperTable]:
    wanted = list(TABLES) if list(names) == [ALL] else list(dict.fromkeys(names))
    for name in wanted:
        if name not in TABLES:
            raise UsageError(
                f"There is no {name!r}.", f"Tables and figures are {', '.join(TABLES)}, or all of them: all."
            )
    return [TABLES[name] for name in wanted]


def _by_task(texts: Sequence[str], flag: str) -> dict[str, str]:
    """TASK=NAME as a dictionary."""
    found: dict[str, str] = {}
    for text in texts:
        task, mark, name = text.partition("=")
        if not mark or not name or task not in KINDS:
            raise UsageError(f"{flag} is {text!r}.", f"Write TASK=FILE; tasks are {', '.join(KINDS)}.")
        if task in found:
            raise UsageError(f"{flag} names {task} twice.", "Name each task once.")
        found[task] = name
    return found


def _questions(path: Path, task: str, limit: int | None, aliases: Path | None, hints: Path | None) -> Asked:
    """The authors' questions where they are known, else the first 500; of these the first `limit`."""
    dataset = load_items(path, task, aliases=aliases, hints=hints if task == "asqa-hint" else None)
    try:
        items, whose = authors_subset(dataset.items, task), "the authors' questions"
    except UsageError:
        items, whose = (
            list(dataset.items[:AUTHORS_COUNT]),
            "the file's questions, which are not all the authors drew from",
        )
    kept = items[:limit]
    which = f"{len(kept):,} questions" + (f", the first of {len(items):,}" if len(kept) < len(items) else "")
    return Asked(dataset, tuple(kept), f"{which} ({whose})")


def _rows(
    table: PaperTable, asked: Mapping[str, Asked], out: Path, options: Options, indexes: Mapping[str, str]
) -> list[Planned]:
    """All rows of a table for the tasks that have data."""
    found = []
    for block in table.blocks:
        if block.task not in asked:
            continue
        kind = kind_of(block.task)
        preset = PRESETS[kind.preset].settings(options.method.schedule)
        of_task = with_preset(options, kind.preset)
        if block.task in indexes:
            of_task = replace(of_task, retrieval=replace(of_task.retrieval, index=indexes[block.task]))
        rows = tuple(row.beside(DEFAULTS | preset) for row in table.rows)
        questions = asked[block.task]
        plan = Plan(out / block.task, kind.title, questions.dataset, questions.items, rows)
        found += [planned(plan, row, row_options(of_task, row)) for row in rows]
    return found


def _made(
    table: PaperTable,
    asked: Mapping[str, Asked],
    work: Sequence[Planned],
    judges: Mapping[str, Judges],
    options: Options,
) -> Reproduced:
    """The table, judged."""
    parts = tuple(_part(block, asked, work, judges) for block in table.blocks)
    model = options.model.model if options.model.model is not None else "the embedded model"
    index = options.retrieval.index if options.retrieval.index is not None else "the embedded index"
    facts = {
        "model": model,
        "index": index,
        "schedule": options.method.schedule,
        "versions": ", ".join(f"{name} {version}" for name, version in versions().items()),
    }
    return Reproduced(table, parts, facts)


def _part(block: Block, asked: Mapping[str, Asked], work: Sequence[Planned], judges: Mapping[str, Judges]) -> Part:
    title = kind_of(block.task).title
    if block.task not in asked:
        return Part(block, title, None, f"no data was given (--data {block.task}=FILE).")
    plan = next(each.plan for each in work if each.plan.dataset.task == block.task)
    judged = judge_plan(plan, judges[block.task])
    judged.write()
    return Part(block, title, judged, questions=asked[block.task].which)


def _write(made: Reproduced, out: Path) -> None:
    """Writes Markdown, CSV and plot, and prints the Markdown."""
    page = out / f"{made.table.name}.md"
    write_whole(page, made.markdown())
    write_whole(page.with_suffix(".csv"), made.csv())
    print(made.markdown())
    print(page)
    print(page.with_suffix(".csv"))
    try:
        plot(made, page.with_suffix(".png"))
        print(page.with_suffix(".png"))
    except UsageError as error:
        print(error)
