"""Which questions of a run are worked on, and in which order. None of this changes an answer."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from flare_local.runs.questions import Asked
from flare_local.runs.record import Record


@dataclass(frozen=True)
class Choice:
    """A choice that stays the same however often a run is gone on with."""

    limit: int | None = None  # only the first this many
    seed: int | None = None  # of the order; None: as in the file
    retry_failed: bool = False

    def chosen(self, asked: Sequence[Asked]) -> list[Asked]:
        """The questions of the run that are wanted, in order."""
        order = list(asked)
        if self.seed is not None:
            random.Random(f"order {self.seed}").shuffle(order)
        return order[: self.limit]

    def pending(self, asked: Sequence[Asked], record: Record) -> list[Asked]:
        """Those of them that are still to be answered."""
        done = record.answered if self.retry_failed else record.answered | record.failed.keys()
        return [each for each in self.chosen(asked) if each.id not in done]
