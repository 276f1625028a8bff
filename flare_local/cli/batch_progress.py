"""The progress of a run on stderr: a bar on a terminal, plain lines in a pipe; failed questions are named in both."""

import time
from datetime import timedelta
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from flare_local.runs.at_once import Outcome
from flare_local.runs.tally import Tally
from flare_local.trace.safe_text import safe_line

EVERY = 5.0  # seconds between two lines in a pipe


class BatchProgress:
    """Call it with each outcome, after the tally has taken it in."""

    def __init__(self, console: Console, tally: Tally) -> None:
        self._console = console
        self._tally = tally
        self._said = time.monotonic()
        self._bar = Progress(
            BarColumn(bar_width=30),
            TextColumn("{task.description}"),
            console=console,
            disable=not console.is_terminal,
            transient=True,
        )
        self._task = self._bar.add_task(progress_line(tally), total=tally.pending)

    def __call__(self, outcome: Outcome) -> None:
        if isinstance(outcome.result, Exception):
            name = "" if type(outcome.result).__module__.startswith("flare_local") else type(outcome.result).__name__
            reason = ": ".join(part for part in (name, str(outcome.result)) if part)
            self.say(f"{safe_line(outcome.asked.id)} failed: {safe_line(reason)}")
        line = progress_line(self._tally)
        self._bar.update(self._task, description=line, completed=self._tally.done)
        last = self._tally.done == self._tally.pending
        if not self._console.is_terminal and (last or time.monotonic() - self._said >= EVERY):
            self._said = time.monotonic()
            self.say(line)

    def say(self, line: str) -> None:
        """A line of its own, above the bar where there is one."""
        self._console.print(line, soft_wrap=True)

    def interrupted(self) -> None:
        """Says what is there, and how to go on."""
        done = f"{self._tally.done} of {self._tally.pending} questions were done now and are on the disk."
        self.say(f"{done} The same command goes on with the rest.")

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._bar.stop()


def progress_line(tally: Tally) -> str:
    """How far a run is, how fast, and how long it will take."""
    parts = [f"{tally.done} of {tally.pending} questions"]
    if tally.failed:
        parts.append(f"{tally.failed} failed")
    if tally.seconds_each is not None:
        parts += [f"{tally.seconds_each:.2f} s each", f"{tally.tokens_each_second:.1f} tokens/s"]
    if tally.seconds_left:
        parts.append(f"{duration(tally.seconds_left)} left")
    return ", ".join(parts)


def duration(seconds: float) -> str:
    """As h:mm:ss."""
    return str(timedelta(seconds=round(seconds)))
