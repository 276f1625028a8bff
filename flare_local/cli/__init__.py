"""The command line. Starting it imports no model library, no JVM and no numpy.

`main` is the console script, `run` one command line inside a process.
"""

import signal
import sys
from collections.abc import Sequence

from flare_local.cli import interrupt  # and nothing else: Ctrl-C is ours from the first milliseconds on


def main() -> None:
    """Runs the process: signals, the command, exit code. Never returns."""
    try:
        interrupt.watch()
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="backslashreplace")  # a terminal without Unicode still gets every answer
        code = run(sys.argv[1:])
    except KeyboardInterrupt:  # before anybody could tell it, or a second one while the first was being told
        code = 128 + (interrupt.received() or signal.SIGINT)
    interrupt.leave(code)


def run(arguments: Sequence[str]) -> int:
    """One command line in this process; returns the exit code. Whatever goes wrong becomes one line on stderr."""
    from flare_local.cli import errors

    words = list(arguments)
    debug = errors.take_debug(words)
    try:
        from flare_local.cli import commands

        commands.dispatch(words)
        sys.stdout.flush()  # a closed pipe or a full disk shows here, not after we have reported success
    except BaseException as error:
        return errors.report(error, debug)
    return 0
