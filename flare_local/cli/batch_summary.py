"""What one process did for a run, in a few lines."""

from typing import TYPE_CHECKING

from flare_local.cli.batch_progress import duration
from flare_local.runs.tally import Tally
from flare_local.trace.terminal import question_cost

if TYPE_CHECKING:
    from flare_local.engine.pool_use import PoolUse


def summary(tally: Tally, pool: "PoolUse | None") -> list[str]:
    """Counts, rates, and of a model that runs here tokens and the peak of the pool; rates are by the clock."""
    lines = [
        f"{tally.answered} answered, {tally.failed} failed in {duration(tally.seconds)}"
        + ("" if tally.seconds_each is None else f": {tally.seconds_each:.2f} s each")
        + f", {tally.tokens_each_second:.1f} answer tokens/s."
    ]
    if tally.answered:
        counters, answered = tally.counters, tally.answered
        lines += [
            f"An answer took {counters.calls / answered:.1f} calls of the model and {tally.searches / answered:.1f} "
            f"searches, and had {tally.tokens / answered:.1f} tokens.",
        ]
    if tally.answered and pool is not None:
        lines += [
            f"Tokens run {counters.run:,}, reused {counters.reused:,}, run again after an eviction "
            f"{counters.recomputed:,}.",
            f"KV pool: calls in flight held at most {pool.in_use:,} of {pool.slots:,} slots; without sharing the most "
            f"would have been {pool.separate:,}.",
        ]
    if tally.question_counters.calls:
        lines.append(f"The question model: {question_cost(tally.question_counters)}.")
    return lines
