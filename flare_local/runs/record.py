"""What a run has come to so far: a line for each answer, for each error, and for each process that worked on it."""

import traceback
from collections.abc import Mapping
from pathlib import Path

from flare_local.errors import FlareError, RunFault
from flare_local.runs.folder import ERRORS, RESULTS, SESSIONS
from flare_local.runs.log import Line, Log, read_lines
from flare_local.runs.questions import Asked
from flare_local.trace.events import Answer
from flare_local.trace.json import answer_object


class Record:
    """Invariant: `answered` are the ids in results.jsonl, each there once; `failed` those of errors.jsonl without an
    answer, with their last error."""

    def __init__(self, folder: Path, run: str) -> None:
        """Opens the files and repairs torn ends. Raises `RunFault` for a result of another run or one that is there
        twice, `DiskFull` where a file cannot be written.
        """
        self.answered: set[str] = set()
        self.failed: dict[str, str] = {}
        self._run = run
        self._folder = folder
        self._results = Log(folder / RESULTS, self._read_result)
        self._errors = Log(folder / ERRORS, self._read_error)
        self._sessions = Log(folder / SESSIONS, lambda line: None)

    def answer(self, asked: Asked, answer: Answer, *, calls: bool) -> None:
        """Writes an answer; `calls` adds every call of the model."""
        value = answer_object(answer, full=calls)
        del value["config"], value["versions"]  # those of run.json
        self._results.append({"id": asked.id, "run": self._run, **value})
        self.answered.add(asked.id)
        self.failed.pop(asked.id, None)

    def fail(self, asked: Asked, error: Exception) -> None:
        """Writes why a question has no answer; for an error that is not the user's, where it came from too."""
        line: dict[str, object] = {
            "id": asked.id,
            "run": self._run,
            "question": asked.question,
            "kind": type(error).__name__,
            "error": str(error),
        }
        if not isinstance(error, FlareError):
            line["traceback"] = "".join(traceback.format_exception(error))
        self._errors.append(line)
        self.failed[asked.id] = str(error)

    def session(self, line: Mapping[str, object]) -> None:
        """Writes what one process did."""
        self._sessions.append({"run": self._run, **line})

    def take(self, folder: Path) -> None:
        """Takes in what another process wrote of the same run into `folder`; what is here already is passed over, so
        that a merge which was killed can be done again. Raises as the constructor, and `DiskFull`.
        """
        sessions: list[Line] = []
        for name, visit in ((RESULTS, self._take_result), (ERRORS, self._take_error)):
            if (folder / name).exists():
                read_lines(folder / name, visit)
        read_lines(self._folder / SESSIONS, sessions.append)
        if (folder / SESSIONS).exists():
            read_lines(folder / SESSIONS, lambda line: None if line in sessions else self._sessions.append(line))

    def close(self) -> None:
        """Closes the files."""
        for log in (self._results, self._errors, self._sessions):
            log.close()

    def _read_result(self, line: Line) -> None:
        id = self._id(line, RESULTS)
        if id in self.answered:
            raise RunFault(f"{self._folder / RESULTS} holds two answers to question {id}: it was changed.")
        self.answered.add(id)

    def _read_error(self, line: Line) -> None:
        id = self._id(line, ERRORS)
        if id not in self.answered:
            self.failed[id] = str(line.get("error"))

    def _take_result(self, line: Line) -> None:
        id = self._id(line, RESULTS)
        if id not in self.answered:
            self._results.append(line)
            self.answered.add(id)
            self.failed.pop(id, None)

    def _take_error(self, line: Line) -> None:
        id = self._id(line, ERRORS)
        if id not in self.answered and self.failed.get(id) != str(line.get("error")):
            self._errors.append(line)
            self.failed[id] = str(line.get("error"))

    def _id(self, line: Line, name: str) -> str:
        if line.get("run") != self._run or not isinstance(line.get("id"), str):
            raise RunFault(
                f"{self._folder / name} holds lines of another run ({line.get('run')}, not {self._run}).",
                "Take them out, or start afresh with --force-new.",
            )
        return str(line["id"])
