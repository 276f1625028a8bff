"""`flare-local warm`: what all prompts of a task begin with, computed once and kept in a file for `--warm`."""

import json
import sys
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flare_local.cli.opening import (
    Task,
    open_engine,
    open_index_of,
    say_what_is_embedded,
    shared_prefixes_of,
    task_of,
    with_exemplar_documents,
)
from flare_local.cli.options import with_options
from flare_local.cli.sources import OPTIONS, Options
from flare_local.config import MethodOptions, ModelOptions, RetrievalOptions
from flare_local.errors import UsageError

if TYPE_CHECKING:
    from flare_local.retrieval.index import Index

_METHOD = OPTIONS["method"]


@with_options(ModelOptions, RetrievalOptions, MethodOptions, without=("method", "warm", "reuse"))
def warm(
    options: Options,
    out: Annotated[
        str, typer.Option("--out", metavar="FILE", help="Where the snapshot goes (safetensors).", show_default=False)
    ],
    method: Annotated[
        list[str] | None,
        typer.Option(
            "--method",
            metavar="METHOD",
            help=f"For this method; may be given more than once. [{_METHOD.default}]",
            show_default=False,
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Compute what all prompts of a task begin with, once.

    Instruction, exemplars and their documents. `ask`, `batch` and `demo` load it with --warm FILE.
    """
    chosen = [_METHOD.read(name, "--method") for name in method or [options.method.method]]
    by_method = {name: replace(options, method=replace(options.method, method=name)) for name in chosen}
    tasks = {name: task_of(each) for name, each in by_method.items()}
    from flare_local.engine.snapshot_file import SnapshotFile

    file = SnapshotFile(Path(out))
    say_what_is_embedded(tasks[chosen[0]], by_method[chosen[0]])
    with ExitStack() as opened:
        index = _index(tasks, options, opened)
        engine = opened.enter_context(open_engine(replace(options.model, warm=None, reuse=True)))
        began = time.perf_counter()
        prefixes = {}
        for name, task in tasks.items():
            shown = with_exemplar_documents(task, options, index if task.method.retrieves else None)
            prefixes[name] = shared_prefixes_of(shown, by_method[name], engine)
            if not prefixes[name]:
                raise UsageError(
                    f"Without exemplars the prompts of {name} share nothing.", "Give --exemplars or --preset."
                )
        size = engine.save_warm(file, [ids for each in prefixes.values() for ids in each])
        seconds = time.perf_counter() - began
    counts = {name: sum(map(len, each)) for name, each in prefixes.items()}
    if as_json:
        print(json.dumps({"file": out, "tokens": counts, "bytes": size, "seconds": seconds}))
        return
    for name, count in counts.items():
        print(f"{name}: {count:,} tokens", file=sys.stderr)
    print(f"{size / 2**20:,.1f} MiB, computed and written in {seconds:.1f} s", file=sys.stderr)
    print(out)


def _index(tasks: dict[str, Task], options: Options, opened: ExitStack) -> "Index | None":
    """The index, where exemplars are to have documents; `opened` closes it."""
    searching = [task for task in tasks.values() if task.method.retrieves]
    return open_index_of(searching[0], options, opened) if searching and options.method.exemplar_documents else None
