"""Ctrl-C and SIGTERM: the process ends within two seconds, whatever it is doing.

Python runs signal handlers in the main thread between two bytecodes. That can be seconds late: inside a forward, a
search, an import, or while threads are being joined. So the C handler also writes to a pipe, and a thread that reads
it ends the process if the main thread has not done so in `GRACE` seconds.
"""

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Coroutine
from types import FrameType
from typing import Any, NoReturn

GRACE = 1.2  # seconds for clean-up (removing a half-built index, closing files) before the process is ended
_FLUSH = 0.2  # seconds for flushing an output that may be blocked

last_words: list[Callable[[], None]] = []  # called before the process is ended while the main thread is stuck

_watching = False
_received = 0  # the signal that asked us to stop, 0 if none


class Terminated(KeyboardInterrupt):
    """SIGTERM. A KeyboardInterrupt, so that asyncio and `finally` treat both alike."""


def received() -> int:
    """The signal that asked this process to stop, 0 if none did."""
    return _received


def watching() -> bool:
    """Whether this process runs one command line and nothing else."""
    return _watching


def watch() -> None:
    """Starts watching SIGINT and SIGTERM. Once a process, from its main thread."""
    global _watching
    _watching = True
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.signal(signal.SIGTERM, _terminate)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # also where a parent had it ignored
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    sys.unraisablehook = _quiet_once_interrupted
    threading.Thread(target=_watch, args=(reader,), name="interrupt", daemon=True).start()


def run(work: Coroutine[Any, Any, None]) -> None:
    """`asyncio.run` where both signals cancel `work` at its next await, and none cuts into what it is doing.

    (asyncio does so for SIGINT alone.) Raises `KeyboardInterrupt` then. To be called in the main thread.
    """
    import asyncio

    async def watched() -> None:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None

        def cancel(number: int, frame: FrameType | None) -> None:
            _note(number)
            loop.call_soon_threadsafe(task.cancel)

        before = signal.signal(signal.SIGTERM, cancel)
        try:
            await work
        finally:
            signal.signal(signal.SIGTERM, before)

    try:
        asyncio.run(watched())
    except asyncio.CancelledError:
        raise Terminated from None


def leave(code: int) -> NoReturn:
    """Ends the process with `code`; from now on a signal ends it at once."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if _received or code == 128 + signal.SIGINT:
        _end(code)
    if not _flush():
        _end(code or 1)
    sys.exit(code)


def _quiet_once_interrupted(unraisable: "sys.UnraisableHookArgs") -> None:
    """What finalizers complain of (an event loop left open, say) is no news once the process is being ended."""
    if not _received and not isinstance(unraisable.exc_value, KeyboardInterrupt):
        sys.__unraisablehook__(unraisable)


def _terminate(number: int, frame: FrameType | None) -> None:
    _note(number)
    raise Terminated


def _note(number: int) -> None:
    global _received
    _received = _received or number  # the watching thread may not have run yet


def _watch(reader: int) -> None:
    global _received
    while True:
        for number in os.read(reader, 1):
            if number in (signal.SIGINT, signal.SIGTERM):
                _received = _received or number
                time.sleep(GRACE)
                _say("interrupted")
                for word in last_words:
                    with contextlib.suppress(Exception):
                        word()
                _end(128 + _received)


def _end(code: int) -> NoReturn:
    """Ends the process without joining anything: threads may be inside a forward or a search."""
    flusher = threading.Thread(target=_flush, daemon=True)
    flusher.start()
    flusher.join(_FLUSH)
    os._exit(code)


def _say(line: str) -> None:
    with contextlib.suppress(OSError):
        os.write(2, f"{line}\n".encode())  # not sys.stderr: the main thread may hold its lock


def _flush() -> bool:
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        return False
    return True
