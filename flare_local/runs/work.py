"""One process's work on a run: questions in, outcomes on the disk, and a count of them."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace

from flare_local.errors import DiskFull, FlareError
from flare_local.runs.at_once import AnswerOne, Outcome, answer_all
from flare_local.runs.questions import Asked
from flare_local.runs.record import Record
from flare_local.runs.tally import Tally
from flare_local.spans import Kind, span
from flare_local.trace.events import Answer


class Work:
    """Answers `pending` into `record`. An outcome counts once it is on the disk, and is shown to `tell` then."""

    def __init__(
        self, pending: Sequence[Asked], record: Record, *, max_errors: int | None = None, calls: bool = False
    ) -> None:
        """`max_errors`: stop once this many questions have failed. `calls`: write every call of the model too."""
        self.tally = Tally(len(pending))
        self.tell: Callable[[Outcome], None] = lambda outcome: None
        self._pending = pending
        self._record = record
        self._max_errors = max_errors
        self._calls = calls

    async def run(self, answer: AnswerOne, interrupted: Callable[[], None], *, concurrency: int) -> None:
        """Raises `FlareError` at `max_errors`, `DiskFull` where an outcome cannot be written.

        Cancelled (Ctrl-C), it calls `interrupted` at once: the process may not have time for more.
        """
        try:
            await answer_all(self._pending, answer, self._take, concurrency=concurrency)
        except asyncio.CancelledError:
            interrupted()
            raise

    def _take(self, outcome: Outcome) -> None:
        with span(Kind.OUTPUT, "record"):
            kept = self._write(outcome)
            self.tally.add(kept)
            self.tell(kept)
        if self._max_errors is not None and self.tally.failed >= self._max_errors:
            raise FlareError(
                f"Stopped at {self.tally.failed} failed questions (--max-errors). The last: {kept.result}",
                "The same command goes on with the rest, with --retry-failed with these too.",
            )

    def _write(self, outcome: Outcome) -> Outcome:
        """The outcome as it was written: an answer that JSON cannot hold is an error."""
        if isinstance(outcome.result, Answer):
            try:
                self._record.answer(outcome.asked, outcome.result, calls=self._calls)
            except DiskFull:
                raise
            except FlareError as error:
                outcome = replace(outcome, result=error)
        if isinstance(outcome.result, Exception):
            self._record.fail(outcome.asked, outcome.result)
        return outcome
