"""Counts of one process's work on a run, and the rates and times they come to."""

import time
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from flare_local.engine.counters import Counters
from flare_local.runs.at_once import Outcome
from flare_local.trace.events import Answer

if TYPE_CHECKING:
    from flare_local.engine.pool_use import PoolUse


@dataclass
class Tally:
    """Grows by one outcome at a time."""

    pending: int  # questions that this process set out to answer
    answered: int = 0
    failed: int = 0
    searches: int = 0
    tokens: int = 0  # of the answers
    counters: Counters = field(default_factory=Counters)  # of the answers together
    question_counters: Counters = field(default_factory=Counters)  # of the question model
    began: float = field(default_factory=time.perf_counter)

    def add(self, outcome: Outcome) -> None:
        """Takes an outcome in."""
        if not isinstance(outcome.result, Answer):
            self.failed += 1
            return
        self.answered += 1
        self.searches += len(outcome.result.searches)
        self.tokens += sum(len(step.sentence.tokens) for step in outcome.result.steps)
        self.counters.add(outcome.result.counters)
        self.question_counters.add(outcome.result.question_counters or Counters())

    @property
    def done(self) -> int:
        """Questions with an outcome."""
        return self.answered + self.failed

    @property
    def seconds(self) -> float:
        """Since the first question was begun."""
        return time.perf_counter() - self.began

    @property
    def seconds_each(self) -> float | None:
        """Wall time over outcomes; None before the first."""
        return self.seconds / self.done if self.done else None

    @property
    def seconds_left(self) -> float | None:
        """What the rest takes at this rate; None before the first outcome."""
        return None if self.seconds_each is None else self.seconds_each * (self.pending - self.done)

    @property
    def tokens_each_second(self) -> float:
        """Tokens of answers by wall time."""
        return self.tokens / self.seconds

    def as_dict(self, pool: "PoolUse | None", question_pool: "PoolUse | None" = None) -> dict[str, object]:
        """For sessions.jsonl. `pool`: None for a served model; `question_pool`: of the question model, if any."""
        question_model = None
        if question_pool is not None:
            question_model = {"counters": self.question_counters.as_dict(), "pool": asdict(question_pool)}
        return {
            "answered": self.answered,
            "failed": self.failed,
            "seconds": self.seconds,
            "answer_tokens": self.tokens,
            "searches": self.searches,
            "counters": self.counters.as_dict(),
            "pool": None if pool is None else asdict(pool),
            "question_model": question_model,
        }
