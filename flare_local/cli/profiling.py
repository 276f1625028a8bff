"""`--profile FILE`: a command that writes where its time goes."""

import inspect
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from time import perf_counter_ns
from typing import Annotated, Any

import typer

from flare_local.cli import interrupt
from flare_local.errors import DiskFull
from flare_local.spans import Kind, Recorder, record

_PROFILE = inspect.Parameter(
    "profile",
    inspect.Parameter.KEYWORD_ONLY,
    default=None,
    annotation=Annotated[
        Path | None,
        typer.Option(
            "--profile",
            metavar="FILE",
            help="Write where the time goes; for `flare-local profile FILE`, Perfetto and chrome://tracing.",
            show_default=False,
        ),
    ],
)


def with_profile(command: Callable[..., None]) -> Callable[..., None]:
    """Adds the option to a typer command; what the command does is recorded where it is given."""
    signature = inspect.signature(command, eval_str=True)

    @wraps(command)
    def wrapper(**arguments: Any) -> None:
        path = arguments.pop("profile")
        if path is None:
            return command(**arguments)
        with profiled(path, command.__name__):
            return command(**arguments)

    wrapper.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[*signature.parameters.values(), _PROFILE]
    )
    wrapper.__annotations__ = {}  # typer reads the signature
    return wrapper


@contextmanager
def profiled(path: Path, command: str) -> Iterator[None]:
    """Records what happens in the block, however it ends. Raises `UsageError` or `DiskFull` for the file."""
    from flare_local.profile.writer import ProfileWriter

    now = perf_counter_ns()
    zero = _process_began(now)
    recorder = Recorder()
    writer = ProfileWriter(path, recorder, zero)
    track = recorder.thread()
    run = recorder.begin(Kind.RUN, f"flare-local {command}", track, 0, {})
    start = recorder.begin(Kind.PYTHON, "interpreter, command line", track, 0, {})
    run.began = start.began = zero
    start.ended = now
    recorder.end(start)
    record(recorder)
    interrupt.last_words.append(lambda: writer.finish("interrupted"))
    ended = "done"
    try:
        yield
    except BaseException as error:
        ended = "interrupted" if isinstance(error, KeyboardInterrupt) or interrupt.received() else "error"
        raise
    finally:
        record(None)
        interrupt.last_words.clear()
        _finish(path, ended, writer.finish)


def _finish(path: Path, ended: str, finish: Callable[[str], None]) -> None:
    """What the run itself has to say goes before what is wrong with its profile."""
    try:
        finish(ended)
    except DiskFull as error:
        if ended == "done":
            raise
        print(error, file=sys.stderr)
    else:
        if ended == "done":
            print(f"Profile: {path} (flare-local profile {path})", file=sys.stderr)


def _process_began(now: int) -> int:
    """When this process began, in ns of perf_counter, where it runs one command only and Linux tells; else `now`."""
    if not interrupt.watching() or sys.platform != "linux":
        return now
    fields = Path("/proc/self/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    ticks = int(fields[19])  # since the machine started, in hundredths of a second mostly
    age = time.clock_gettime_ns(time.CLOCK_BOOTTIME) - ticks * 10**9 // os.sysconf("SC_CLK_TCK")
    return now - max(0, age)
