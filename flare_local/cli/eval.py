"""`flare-local eval`: methods on the questions of a task, answered, judged and compared."""

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from flare_local.cli.estimating import estimate, estimate_lines
from flare_local.cli.evaluating import Bench, How, Planned, evaluate, failures, planned
from flare_local.cli.judging import JudgeOptions, QaModel, SpacyModel, UniEvalModel
from flare_local.cli.opening import say_what_is_embedded
from flare_local.cli.options import with_options
from flare_local.cli.row_options import row_options, with_preset
from flare_local.cli.sources import Options
from flare_local.config import MethodOptions, ModelOptions, RetrievalOptions
from flare_local.datasets.kinds import KINDS, kind_of
from flare_local.datasets.read import load_items
from flare_local.datasets.subset import chosen
from flare_local.errors import FlareError, UsageError
from flare_local.evaluation.folder import Plan
from flare_local.evaluation.judged import judge_plan
from flare_local.evaluation.ranks import join_ranks
from flare_local.evaluation.row import Row
from flare_local.evaluation.text import report
from flare_local.policies.methods import METHODS

AT_ONCE = 16  # questions; as in `batch`
ALL = "all"


@with_options(ModelOptions, RetrievalOptions, MethodOptions, without={"method", "warm"})
def eval_(
    options: Options,
    task: Annotated[str, typer.Option(metavar="|".join(KINDS), help="What the questions are.", show_default=False)],
    data: Annotated[Path, typer.Option("--data", metavar="FILE", help="Questions with answers.", show_default=False)],
    out: Annotated[
        Path,
        typer.Option(
            "--out", metavar="RUN", help="Folder of the evaluation; one that is there goes on.", show_default=False
        ),
    ],
    method: Annotated[
        list[str],
        typer.Option(
            "--method", metavar="METHOD", help="A row of the table; give it again for more, or all.", show_default=False
        ),
    ],
    limit: Annotated[
        int | None,
        typer.Option(metavar="INTEGER", help="Only the first this many questions, by chance where --seed is given."),
    ] = None,
    aliases: Annotated[
        Path | None, typer.Option(metavar="FILE", help="2WikiMultihopQA's id_aliases.json; unset: beside FILE.")
    ] = None,
    hints: Annotated[Path | None, typer.Option(metavar="FILE", help="Hints for asqa-hint.")] = None,
    split: Annotated[str | None, typer.Option(help="Part of a file or folder that holds several.")] = None,
    qa_model: QaModel = None,
    unieval_model: UniEvalModel = None,
    spacy_model: SpacyModel = None,
    concurrency: Annotated[
        int, typer.Option(metavar="INTEGER", help=f"Questions at the same time. [{AT_ONCE}]", show_default=False)
    ] = AT_ONCE,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Try those again that failed before.")] = False,
    calls: Annotated[bool, typer.Option("--calls", help="Write every call of the model with its prompt too.")] = False,
    force_new: Annotated[bool, typer.Option("--force-new", help="Put old answers aside and begin anew.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Count prompts and estimate the time from a few questions; keep nothing.")
    ] = False,
) -> None:
    """Answer a task's questions with each method, judge the answers and compare the methods.

    Interrupted or killed, the same command goes on where it stopped. Several processes share the work under
    `accelerate launch -m flare_local eval ...`.
    """
    check_counts(limit=limit, concurrency=concurrency)
    kind = kind_of(task)
    dataset = load_items(data, task, aliases=aliases, hints=hints, split=split)
    seed = None if options.sources["seed"] == "default" else options.method.seed
    rows = _rows(method)
    plan = Plan(out, kind.title, dataset, tuple(chosen(dataset.items, limit, seed)), rows, limit, seed)
    options = with_preset(options, kind.preset)
    work = [planned(plan, row, row_options(options, row)) for row in rows]
    judging = JudgeOptions(qa_model, unieval_model, spacy_model)
    how = How(concurrency, retry_failed, calls, force_new)
    say_what_is_embedded(max(work, key=lambda each: each.task.method.retrieves).task, options)
    with ExitStack() as opened:
        bench = Bench(opened)
        if dry_run:
            print("\n".join(estimate_lines(estimate(work, bench, how))))
            return
        ranks = join_ranks()
        judges = judging.open(task) if ranks.first else None  # before the work, not after it
        evaluate(work, bench, how, ranks)
    if judges is None:
        return
    judged = judge_plan(plan, judges)
    judged.write()
    print("\n".join(report(judged)))
    print(f"\n{out / 'scores.json'}")
    fail_where_answers_are_missing(work)


def fail_where_answers_are_missing(work: list[Planned]) -> None:
    """Raises `FlareError` where a question has no answer."""
    missing = failures(work)
    if missing:
        raise FlareError(f"Questions failed and count as wrong: {'; '.join(missing)}.", "--retry-failed tries again.")


def check_counts(**counts: int | None) -> None:
    """Raises `UsageError` for an option that is below 1."""
    for name, value in counts.items():
        if value is not None and value < 1:
            raise UsageError(f"--{name} is {value}.", "Give 1 or more.")


def _rows(methods: list[str]) -> tuple[Row, ...]:
    names = list(METHODS) if methods == [ALL] else methods
    for name in names:
        if name not in METHODS:
            raise UsageError(f"There is no method {name!r}.", f"Methods are {', '.join(METHODS)}, or all of them: all.")
    if len(set(names)) < len(names):
        raise UsageError("A --method is there twice.", "Name each once.")
    return tuple(Row(name, name) for name in names)
