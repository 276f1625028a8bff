"""`flare-local data`: look at a dataset before it is used, and write hints for ambiguous questions."""

import json
from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from flare_local.cli.console import err
from flare_local.cli.options import with_options
from flare_local.cli.sources import Options
from flare_local.config import ModelOptions
from flare_local.datasets.kinds import KINDS, kind_of
from flare_local.datasets.read import Dataset, load_items, read_dataset
from flare_local.datasets.subset import chosen
from flare_local.errors import FlareError, UsageError
from flare_local.trace.safe_text import safe_line

app = typer.Typer(help="Look at a dataset, and write hints for ambiguous questions.", no_args_is_help=True)

EXAMPLES = 3
LISTED = 20  # rows that cannot be used, without --json
WIDTH = 300  # characters of a field of an example
AT_ONCE = 16  # hints; as in `batch`
TOLD = 10  # hints between two lines on stderr

_File = Annotated[Path, typer.Argument(metavar="FILE", help="File or folder of questions.", show_default=False)]
_Split = Annotated[str | None, typer.Option(help="Part of a file or folder that holds several.", show_default=False)]


@app.callback()
def data() -> None:
    """Datasets that answers are judged by."""


@app.command()
def check(
    file: _File,
    task: Annotated[str, typer.Option(metavar="|".join(KINDS), help="What it is.", show_default=False)],
    aliases: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="2WikiMultihopQA's id_aliases.json; unset: beside FILE.", show_default=False),
    ] = None,
    hints: Annotated[Path | None, typer.Option(metavar="FILE", help="Hints for asqa-hint.", show_default=False)] = None,
    split: _Split = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")] = False,
) -> None:
    """Say what was found, what is missing and what cannot be used, and show three examples."""
    found = read_dataset(file, task, aliases=aliases, hints=hints, split=split)
    if as_json:
        print(json.dumps(_as_dict(found)))
    else:
        _show(found)
    if found.faults:
        raise FlareError(f"{len(found.faults)} rows of {file} cannot be used.", "Mend them or take them out.")
    if not found.items:
        raise FlareError(f"{file} holds no questions for {task}.", f"Give {kind_of(task).files}.")


@app.command()
@with_options(ModelOptions)
def hints(
    options: Options,
    file: _File,
    out: Annotated[
        Path,
        typer.Option("--out", metavar="FILE", help="JSONL of hints; one that is there goes on.", show_default=False),
    ],
    limit: Annotated[int | None, typer.Option(metavar="INTEGER", help="Only the first this many.")] = None,
    seed: Annotated[int | None, typer.Option(metavar="INTEGER", help="In random order, before --limit.")] = None,
    concurrency: Annotated[
        int, typer.Option(metavar="INTEGER", help=f"Hints at the same time. [{AT_ONCE}]", show_default=False)
    ] = AT_ONCE,
    split: _Split = None,
) -> None:
    """Write a hint at what is ambiguous about each question of ASQA, for the task asqa-hint.

    Interrupted or killed, the same command goes on where it stopped.
    """
    for name, value in (("limit", limit), ("concurrency", concurrency)):
        if value is not None and value < 1:
            raise UsageError(f"--{name} is {value}.", "Give 1 or more.")
    items = chosen(load_items(file, "asqa", split=split).items, limit, seed)

    from flare_local.cli import interrupt
    from flare_local.cli.opening import open_model
    from flare_local.datasets.hint_writing import HintFile, write_hints
    from flare_local.policies.hint import write_hint

    failed: list[str] = []
    with open_model(options.model) as engine, closing(HintFile(out, engine.model.fingerprint)) as written:

        async def write() -> None:
            failed.extend(
                await write_hints(
                    items,
                    lambda item: write_hint(engine.question(item.id, options.model.chat_template), item.question),
                    written,
                    _tell,
                    concurrency=concurrency,
                )
            )

        interrupt.run(write())
    print(out)
    if failed:
        raise FlareError(f"{len(failed)} questions got no hint, {safe_line(failed[0])} first.", "Try another --model.")


def _tell(done: int, total: int) -> None:
    if done % TOLD == 0 or done == total:
        err().print(f"{done} of {total} hints")


def _as_dict(found: Dataset) -> dict[str, object]:
    return {
        "task": found.task,
        "path": str(found.path),
        "form": found.form,
        "questions": len(found.items),
        "has": _counts(found),
        "missing": list(found.missing),
        "faults": [{"line": fault.line, "text": fault.text} for fault in found.faults],
        "sha256": found.hash,
        "examples": [item.as_dict() for item in found.items[:EXAMPLES]],
    }


def _counts(found: Dataset) -> dict[str, int]:
    """How many questions have what."""
    items = found.items
    counts = {
        "an answer": sum(bool(item.answers) for item in items),
        "more than one answer": sum(len(item.answers) > 1 for item in items),
        "supporting documents": sum(bool(item.supporting_ids or item.supporting_titles) for item in items),
        "readings": sum(bool(item.readings) for item in items),
        "long answers": sum(bool(item.long_answers) for item in items),
        "aspects": sum(bool(item.aspects) for item in items),
        "a hint": sum(bool(item.hint) for item in items),
    }
    return {name: count for name, count in counts.items() if count}


def _show(found: Dataset) -> None:
    print(f"{kind_of(found.task).title}: {len(found.items):,} questions in {safe_line(str(found.path))} ({found.form})")
    for name, count in _counts(found).items():
        print(f"  {count:>8,} have {name}")
    for text in found.missing:
        print(f"missing: {safe_line(text)}")
    for fault in found.faults[:LISTED]:
        print(f"not used: {safe_line(fault.text)}")
    if len(found.faults) > LISTED:
        print(f"not used: {len(found.faults) - LISTED:,} more, which --json lists")
    for item in found.items[:EXAMPLES]:
        print(f"\n{safe_line(item.id)} (line {item.line})")
        for name, value in item.as_dict().items():
            if name not in ("id", "line"):
                text = safe_line(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
                print(f"  {name}: {text if len(text) <= WIDTH else text[:WIDTH] + '...'}")
