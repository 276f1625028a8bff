"""The folder of a run: what it is bound to, its questions, its lock. docs/batch.md describes every file."""

import json
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from flare_local.errors import RunFault
from flare_local.runs.binding import Settings, binding_hash, changed_questions, changed_settings, plain
from flare_local.runs.lock import Lock
from flare_local.runs.log import Line, not_written, read_lines, sync_folder, write_whole
from flare_local.runs.questions import Asked

HEAD = "run.json"  # written last when a run begins, moved first when it is replaced
QUESTIONS = "questions.jsonl"
RESULTS = "results.jsonl"
ERRORS = "errors.jsonl"
SESSIONS = "sessions.jsonl"
LOCK = "lock"
REPLACED = "replaced-"  # folders of runs that --force-new has put aside
FILES = (HEAD, QUESTIONS, RESULTS, ERRORS, SESSIONS)
FORMAT = 1


class RunFolder:
    """Locked while open. `begun` says whether it holds a run; a run changes neither its settings nor its questions."""

    def __init__(self, path: Path) -> None:
        """Makes the folder if need be. Raises `RunFault` where another process works on it, where it holds other
        things than a run, or where `run.json` cannot be read.
        """
        self.path = path
        self._made = not path.exists()
        if not self._made and not path.is_dir():
            raise RunFault(f"{path} is not a folder.", "Give --out a new folder, or that of a run.")
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise not_written(error, path) from None
        self._refuse_strangers()
        self._lock = Lock(path / LOCK)
        try:
            self._head = self._read_head()
            self.questions = self._read_questions() if self.begun else []
        except BaseException:
            self._lock.release(remove=False)
            raise

    @property
    def begun(self) -> bool:
        """Whether it holds a run."""
        return self._head is not None

    @property
    def run(self) -> str:
        """The first digits of the hash of everything the run is bound to; every result names them."""
        assert self._head is not None
        return str(self._head["binding_sha256"])[:12]

    def check(self, settings: Settings, questions: Sequence[Asked]) -> None:
        """Raises `RunFault`, with what has changed, unless the run was begun with these; `settings` may be a part."""
        assert self._head is not None
        changes = changed_questions(self.questions, questions) + changed_settings(self._head["settings"], settings)
        if changes:
            raise RunFault(
                f"The run in {self.path} was begun with other questions or settings: {'; '.join(changes)}.",
                "Give those of before, or another --out, or --force-new, which puts the old run aside.",
            )

    def begin(self, settings: Settings, questions: Sequence[Asked]) -> None:
        """Begins a run bound to these; one that is there is put aside. Killed at any moment, it leaves the old run, or
        a folder that begins anew."""
        self._put_aside()
        lines = [json.dumps(asked.as_dict()) + "\n" for asked in questions]
        write_whole(self.path / QUESTIONS, "".join(lines))
        head = {
            "format": FORMAT,
            "questions": len(questions),
            "binding_sha256": binding_hash(settings, questions),
            "settings": plain(settings),
        }
        write_whole(self.path / HEAD, json.dumps(head, indent=1) + "\n")
        self._head, self.questions = head, list(questions)

    def close(self) -> None:
        """Gives the lock back. A folder that was made for a run that never began goes away again."""
        empty = self._made and not self.begun
        self._lock.release(remove=empty)
        if empty:
            (self.path / (QUESTIONS + ".new")).unlink(missing_ok=True)
            (self.path / QUESTIONS).unlink(missing_ok=True)
            self.path.rmdir()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _put_aside(self) -> None:
        there = [name for name in FILES if (self.path / name).exists()]
        if not there:
            return
        number = 1
        while (aside := self.path / f"{REPLACED}{number}").exists():
            number += 1
        try:
            aside.mkdir()
            for name in there:  # run.json first: without it the rest is no run
                (self.path / name).rename(aside / name)
                sync_folder(self.path)
        except OSError as error:
            raise not_written(error, aside) from None

    def _refuse_strangers(self) -> None:
        ours = {LOCK, *FILES, *(name + ".new" for name in FILES)}
        others = [name for each in self.path.iterdir() if (name := each.name) not in ours and REPLACED not in name]
        if others and not (self.path / HEAD).exists():
            raise RunFault(
                f"{self.path} holds other things than a run ({min(others)}).",
                "Give --out a new folder, or that of a run.",
            )

    def _read_head(self) -> Line | None:
        path = self.path / HEAD
        try:
            head = json.loads(path.read_bytes())
            if head["format"] != FORMAT:
                raise RunFault(
                    f"{path} has format {head['format']}; this version reads {FORMAT}.", "Give another --out."
                )
            assert isinstance(head["settings"], dict)
            assert isinstance(head["binding_sha256"], str)
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError, AssertionError):
            raise RunFault(f"{path} cannot be read: it was changed.", "Give another --out.") from None
        return dict(head)

    def _read_questions(self) -> list[Asked]:
        assert self._head is not None
        found: list[Asked] = []
        path = self.path / QUESTIONS
        try:
            read_lines(path, lambda line: found.append(Asked(**line)))
        except (FileNotFoundError, TypeError):
            found = []
        if binding_hash(self._head["settings"], found) != self._head["binding_sha256"]:
            raise RunFault(f"{path} is not what the run was begun with: it was changed.", "Give another --out.")
        return found
