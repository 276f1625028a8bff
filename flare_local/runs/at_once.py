"""Many questions at once: a fixed number of workers take one after the other until none is left."""

import asyncio
import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any

from flare_local.runs.questions import Asked
from flare_local.trace.events import Answer

AnswerOne = Callable[[Asked], Coroutine[Any, Any, Answer]]


@dataclass(frozen=True)
class Outcome:
    """What became of one question."""

    asked: Asked
    result: Answer | Exception
    seconds: float  # from its start, others running beside it


async def answer_all(
    pending: Sequence[Asked],
    answer: AnswerOne,
    take: Callable[[Outcome], None],
    *,
    concurrency: int,
) -> None:
    """Answers `pending` in that order, `concurrency` of them at a time; `take` gets each outcome as it is there.

    An error of `answer` is an outcome and the rest goes on; an error of `take` ends everything and comes out here.
    """
    waiting = iter(pending)

    async def work() -> None:
        for asked in waiting:
            began = time.perf_counter()
            result: Answer | Exception
            try:
                result = await answer(asked)
            except Exception as error:
                result = error
            take(Outcome(asked, result, time.perf_counter() - began))

    workers = [asyncio.ensure_future(work()) for _ in range(min(concurrency, len(pending)))]
    try:
        await asyncio.gather(*workers)
    finally:
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
