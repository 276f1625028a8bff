"""How long an evaluation will take on this machine: by what its rows have taken so far, else by a few questions."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from flare_local.cli import interrupt
from flare_local.cli.batch_progress import duration
from flare_local.cli.console import err
from flare_local.cli.evaluating import Bench, How, Planned, answering
from flare_local.errors import FlareError
from flare_local.runs.at_once import Outcome, answer_all
from flare_local.runs.folder import SESSIONS
from flare_local.runs.log import Line, read_lines
from flare_local.trace.events import Answer

MEASURED = 3  # questions of a row


@dataclass(frozen=True)
class Rate:
    """Of one question, others beside it."""

    seconds: float
    prompts: float


@dataclass(frozen=True)
class Estimate:
    """What a row will take."""

    row: Planned
    pending: int  # questions
    rate: Rate | None  # None where nothing is pending


def estimate(rows: Sequence[Planned], bench: Bench, how: How) -> list[Estimate]:
    """What each row will take; a row that several tables share counts once. Nothing is written.

    Raises `FlareError` where no question of a row can be answered.
    """
    found = []
    for row in {row.folder: row for row in rows}.values():
        pending = [item.asked for item in row.plan.items] if how.force_new else row.pending(how.retry_failed)
        rate = None
        if pending and (rate := None if how.force_new else _known(row)) is None:
            bench.open(rows)
            err().print(f"measuring {row.row.title} ({row.plan.title})")
            outcomes: list[Outcome] = []
            tried = pending[:MEASURED]
            began = time.perf_counter()
            interrupt.run(answer_all(tried, answering(row, bench), outcomes.append, concurrency=how.concurrency))
            rate = _rate(row, outcomes, time.perf_counter() - began)
        found.append(Estimate(row, len(pending), rate))
    return found


def estimate_lines(estimates: Sequence[Estimate]) -> list[str]:
    """What is to be done, and about how long it takes."""
    lines, seconds, prompts = [], 0.0, 0.0
    width = max(len(each.row.row.title) for each in estimates)
    for each in estimates:
        head = f"{each.row.row.title:<{width}}  {each.row.plan.title}: {each.pending:,} questions left"
        if each.rate is not None:
            row_seconds, row_prompts = each.rate.seconds * each.pending, each.rate.prompts * each.pending
            seconds, prompts = seconds + row_seconds, prompts + row_prompts
            head += f", about {row_prompts:,.0f} prompts and {duration(row_seconds)} ({each.rate.seconds:.1f} s each)"
        lines.append(head)
    return [*lines, f"Together about {prompts:,.0f} prompts and {duration(seconds)} on this machine."]


def _rate(row: Planned, outcomes: Sequence[Outcome], seconds: float) -> Rate:
    answers = [each.result for each in outcomes if isinstance(each.result, Answer)]
    if not answers:
        raise FlareError(f"{row.row.title}: none of {len(outcomes)} questions was answered ({outcomes[0].result}).")
    return Rate(seconds / len(outcomes), sum(len(answer.writings) for answer in answers) / len(answers))


def _known(row: Planned) -> Rate | None:
    """The rate of what is answered already; None where that is less than would be measured."""
    if not (row.folder / SESSIONS).exists():
        return None
    lines: list[Line] = []
    read_lines(row.folder / SESSIONS, lines.append)
    answered = sum(line["answered"] for line in lines)
    if answered < MEASURED:
        return None
    outcomes = answered + sum(line["failed"] for line in lines)
    calls = sum(line["counters"]["calls"] for line in lines)
    return Rate(sum(line["seconds"] for line in lines) / outcomes, calls / answered)
