"""Writes a profile while the run goes on: Chrome's trace events, one a line, which Perfetto and chrome://tracing open.

The form is Chrome's array of events, which may lack its end: a killed run leaves a file that can still be read.
"""

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from flare_local.errors import DiskFull, UsageError
from flare_local.spans import Recorder, Span, Track

BEGIN = "[\n"
PATIENCE = 0.3  # seconds that a second call waits for the first
EVERY = 0.5  # seconds between two looks at what has ended
THREADS, QUESTIONS = 1, 2  # Chrome's process ids: tracks of threads, tracks of questions


class ProfileWriter:
    """Takes spans from a recorder and puts them into a file, on a thread of its own. Safe to use from any thread."""

    def __init__(self, path: Path, recorder: Recorder, zero: int) -> None:
        """`zero`: ns of perf_counter at which the run began. Raises `UsageError` or `DiskFull` for the file."""
        self._path = path
        self._recorder = recorder
        self._zero = zero
        self._processes: dict[int, int] = {}  # track -> Chrome's process
        self._failed: OSError | None = None
        self._file = _open(path)
        self._lock = threading.Lock()
        self._over = threading.Event()
        threading.Thread(target=self._work, name="flare-profile", daemon=True).start()

    def finish(self, ended: str) -> None:
        """Writes the rest. Spans still open end now; `ended` says why. A second call does nothing.

        Raises `DiskFull` where the file could not be written.
        """
        if self._over.is_set():
            if self._lock.acquire(timeout=PATIENCE):  # it may be half written yet
                self._lock.release()
            return
        self._over.set()
        with self._lock:
            self._recorder.end_all(ended)
            self._write()
            self._put(json.dumps(_named(QUESTIONS, "process_sort_index", 0, {"sort_index": QUESTIONS})) + "\n]\n")
            if self._failed is not None:
                raise _disk_full(self._path, self._failed) from self._failed
            self._file.close()

    def _work(self) -> None:
        while not self._over.wait(EVERY):
            with self._lock:
                if not self._over.is_set():
                    self._write()

    def _write(self) -> None:
        lines = []
        while self._recorder.done:
            item = self._recorder.done.popleft()
            events = self._track(item) if isinstance(item, Track) else [self._event(item)]
            lines += [json.dumps(event, default=_asked) + ",\n" for event in events]
        self._put("".join(lines))

    def _put(self, text: str) -> None:
        if self._failed is None:
            try:
                self._file.write(text)
                self._file.flush()
            except OSError as error:  # the answer is worth more than its profile: told at the end
                self._failed = error

    def _track(self, track: Track) -> list[dict[str, Any]]:
        process = self._processes[track.number] = THREADS if track.of is None else QUESTIONS
        return [
            _named(process, "thread_name", track.number, {"name": track.name, "of": track.of}),
            _named(process, "thread_sort_index", track.number, {"sort_index": track.number}),
        ]

    def _event(self, span: Span) -> dict[str, Any]:
        event = {
            "ph": "X",
            "pid": self._processes[span.track],
            "tid": span.track,
            "ts": (span.began - self._zero) / 1000,  # microseconds
            "dur": (span.ended - span.began) / 1000,
            "name": span.name or span.kind.value,
            "cat": span.kind.value,
        }
        about = dict(span.about)
        if span.question and span.question != span.track:
            about["question"] = span.question
        return event | ({"args": about} if about else {})


def _named(process: int, name: str, thread: int, about: dict[str, Any]) -> dict[str, Any]:
    return {"ph": "M", "pid": process, "tid": thread, "name": name, "args": about}


def _asked(value: Callable[[], object]) -> object:
    """Values of `about` that are dear to make are made here, not while the run waits."""
    return value()


def _open(path: Path) -> IO[str]:
    """The file, emptied. Raises `UsageError` where something else than a profile would be lost, `DiskFull`."""
    try:
        if path.is_file() and path.stat().st_size:
            with path.open("rb") as there:
                if not there.read(len(BEGIN) + 5).startswith(f'{BEGIN}{{"ph"'.encode()):
                    raise UsageError(f"--profile {path} is there and is no profile.", "Name another file.")
        file = path.open("w", encoding="ascii")
        file.write(BEGIN)
        for process, name in ((THREADS, "threads"), (QUESTIONS, "questions")):
            file.write(json.dumps(_named(process, "process_name", 0, {"name": name})) + ",\n")
        file.flush()
    except OSError as error:
        raise _disk_full(path, error) from error
    return file


def _disk_full(path: Path, error: OSError) -> DiskFull:
    return DiskFull(f"The profile {path} cannot be written: {error.strerror}.", "Name another file.")
