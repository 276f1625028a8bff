"""`flare-local batch`: many questions at once, their answers in a folder that an interrupted run goes on with."""

import sys
from collections.abc import Sequence
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Annotated

import typer

from flare_local.cli import interrupt
from flare_local.cli.batch_progress import BatchProgress
from flare_local.cli.batch_summary import summary
from flare_local.cli.bound import settings_asked, settings_opened
from flare_local.cli.console import err
from flare_local.cli.opening import say_what_is_embedded, task_of
from flare_local.cli.options import with_options
from flare_local.cli.profiling import with_profile
from flare_local.cli.sources import Options
from flare_local.cli.start import start
from flare_local.config import MethodOptions, ModelOptions, RetrievalOptions
from flare_local.errors import DiskFull, FlareError, UsageError
from flare_local.runs.choice import Choice
from flare_local.runs.folder import ERRORS, RESULTS, RunFolder
from flare_local.runs.questions import Asked, Form, read_file, read_stream
from flare_local.runs.record import Record
from flare_local.runs.work import Work
from flare_local.trace.events import Answer

AT_ONCE = 16  # questions; as in flare_local.api


@with_options(ModelOptions, RetrievalOptions, MethodOptions)
@with_profile
def batch(
    options: Options,
    out: Annotated[
        str,
        typer.Option("--out", metavar="RUN", help="Folder of the run; one that is there goes on.", show_default=False),
    ],
    questions: Annotated[
        str | None,
        typer.Argument(
            help="File of questions: one a line, JSONL (question, id) or TSV (id, question); - is standard input. "
            "A run that was begun knows its own.",
            show_default=False,
        ),
    ] = None,
    form: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="text|jsonl|tsv",
            help="How QUESTIONS is written; unset: by its ending, else its first line.",
        ),
    ] = None,
    concurrency: Annotated[
        int,
        typer.Option(metavar="INTEGER", help=f"Questions that run at the same time. [{AT_ONCE}]", show_default=False),
    ] = AT_ONCE,
    limit: Annotated[
        int | None, typer.Option(metavar="INTEGER", help="Only the first this many, after --shuffle.")
    ] = None,
    shuffle: Annotated[bool, typer.Option("--shuffle", help="In random order, the same for one --seed.")] = False,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Try those again that failed before.")] = False,
    max_errors: Annotated[
        int | None, typer.Option(metavar="INTEGER", help="Stop once this many questions have failed.")
    ] = None,
    calls: Annotated[bool, typer.Option("--calls", help="Write every call of the model with its prompt too.")] = False,
    force_new: Annotated[bool, typer.Option("--force-new", help="Put the old run aside and begin anew.")] = False,
) -> None:
    """Answer many questions at once, each on the disk as soon as it is done.

    Interrupted or killed, the same command goes on where it stopped.
    """
    for name, value in (("concurrency", concurrency), ("limit", limit), ("max-errors", max_errors)):
        if value is not None and value < 1:
            raise UsageError(f"--{name} is {value}.", "Give 1 or more.")
    given = None if questions is None else _read(questions, form)
    choice = Choice(limit, options.method.seed if shuffle else None, retry_failed)
    with RunFolder(Path(out)) as folder, ExitStack() as opened:
        asked = folder.questions if given is None else given
        if not asked:
            raise UsageError(f"{out} holds no run yet.", "Name a file of questions.")
        task = task_of(options)
        settings = settings_asked(task, options)
        record = None
        if folder.begun and not force_new:
            folder.check(settings, asked)
            record = opened.enter_context(closing(Record(folder.path, folder.run)))
            if not choice.pending(asked, record):
                print("Nothing is left to do.")
                return _end(folder, record, choice.chosen(asked))

        say_what_is_embedded(task, options)
        task, index, engine, question_engine = start(task, options, opened)
        settings |= settings_opened(engine, question_engine, index)
        if record is None:
            folder.begin(settings, asked)
            record = opened.enter_context(closing(Record(folder.path, folder.run)))
        else:
            folder.check(settings, asked)

        from flare_local.api import Ask

        async def answer(one: Asked) -> Answer:
            return await Ask(task.method).answer(
                engine,
                index,
                one.question,
                exemplars=task.exemplars,
                rules=task.rules,
                chat=options.model.chat_template,
                question_engine=question_engine,
            )

        work = Work(choice.pending(asked, record), record, max_errors=max_errors, calls=calls)
        with BatchProgress(err(), work.tally) as progress:
            work.tell = progress
            try:
                interrupt.run(work.run(answer, progress.interrupted, concurrency=concurrency))
            finally:
                with suppress(DiskFull):  # said already
                    pools = [engine.pool_use] + ([] if question_engine is None else [question_engine.pool_use])
                    record.session({"concurrency": concurrency, **work.tally.as_dict(*pools)})
        print("\n".join(summary(work.tally, engine.pool_use)))
        return _end(folder, record, choice.chosen(asked))


def _read(questions: str, form: str | None) -> list[Asked]:
    if form is not None and form not in list(Form):
        raise UsageError(f"--format is {form!r}.", f"Give one of {', '.join(Form)}.")
    kind = None if form is None else Form(form)
    return read_stream(sys.stdin.buffer, kind) if questions == "-" else read_file(Path(questions), kind)


def _end(folder: RunFolder, record: Record, chosen: Sequence[Asked]) -> None:
    """Says where the answers are. Raises `FlareError` where a question has none."""
    print(folder.path / RESULTS)
    failed = [asked.id for asked in chosen if asked.id in record.failed]
    if failed:
        sys.stdout.flush()
        raise FlareError(
            f"{len(failed)} of {len(chosen)} questions failed; {folder.path / ERRORS} says why.",
            "--retry-failed tries them again.",
        )
