"""What a user sees when something goes wrong: one line on stderr and an exit code."""

import contextlib
import errno
import os
import signal
import sys
import traceback

from flare_local.cli import interrupt
from flare_local.errors import FlareError

BUG = 70  # sysexits.h EX_SOFTWARE
FAILED = 1
USAGE = 2


def take_debug(words: list[str]) -> bool:
    """Whether tracebacks are wanted: `--debug` anywhere before a `--` (it is taken out of `words`), or FLARE_DEBUG."""
    end = words.index("--") if "--" in words else len(words)
    if "--debug" in words[:end]:
        words.remove("--debug")
        return True
    return os.environ.get("FLARE_DEBUG", "") not in ("", "0")


def report(error: BaseException, debug: bool) -> int:
    """Prints the line that belongs to `error`, with its traceback if `debug`, and returns the exit code."""
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else int(error.code is not None)
    if isinstance(error, BrokenPipeError):
        _silence_stdout()
        return 128 + signal.SIGPIPE
    if debug:
        traceback.print_exception(error)
    line, code = _describe(error)
    print(one_line(line), file=sys.stderr, flush=True)
    return code


def one_line(text: str) -> str:
    """`text` with every line break and control character made visible or blank."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in " ".join(text.split()))


def _describe(error: BaseException) -> tuple[str, int]:
    # A signal inside an import or a callback can come out as any exception.
    if isinstance(error, KeyboardInterrupt) or interrupt.received():
        return "interrupted", 128 + (interrupt.received() or signal.SIGINT)
    if isinstance(error, FlareError):
        return f"error: {error}", error.exit_code
    if _is_typers(error):
        message = error.format_message().rstrip(".")  # type: ignore[attr-defined]
        return f"error: {message}. {_see_help(error)}", USAGE
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError" or "can't allocate" in str(error):
        return (
            "error: Not enough memory. A smaller --kv-memory, a smaller --dtype or a smaller model needs less.",
            FAILED,
        )
    if isinstance(error, OSError) and error.errno is not None:
        return _describe_os_error(error), FAILED
    name = type(error).__name__
    return f"error: This is a bug in flare-local: {name}: {error} (--debug shows where; please report it)", BUG


def _describe_os_error(error: OSError) -> str:
    place = f" {error.filename!r}" if error.filename else ""
    match error.errno:
        case errno.ENOSPC | errno.EDQUOT:
            return f"error: The disk is full: writing{place} failed. Free some space and run the command again."
        case errno.EROFS:
            return f"error: The disk is read-only: writing{place} failed. Choose a folder that can be written."
        case _:
            return f"error: {error.strerror or error}:{place or ' (no file named)'}."


def _is_typers(error: BaseException) -> bool:
    """Whether `error` is a usage error of typer, or of click under older versions of it; imports neither."""
    return type(error).__module__.split(".")[0] in ("typer", "click") and hasattr(error, "format_message")


def _see_help(error: BaseException) -> str:
    context = getattr(error, "ctx", None)
    return f"`{context.command_path} --help` shows what it takes." if context is not None else ""


def _silence_stdout() -> None:
    """Nobody reads our output any more: let what is left, and the flush at exit, go nowhere."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
