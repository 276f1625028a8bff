"""Answers without a model, and a run over them that is a process of its own: `python -m tests.runs.made RUN COUNT`.

With `held` as third argument the last question is never answered, so that the run is there to be killed.
"""

import asyncio
import random
import sys
from contextlib import closing
from functools import partial
from pathlib import Path

from flare_local.policies.methods import METHODS
from flare_local.policies.rules import Rules
from flare_local.runs.choice import Choice
from flare_local.runs.folder import RunFolder
from flare_local.runs.questions import Asked
from flare_local.runs.record import Record
from flare_local.runs.work import Work
from flare_local.tasks.exemplars import NONE
from flare_local.trace.events import Answer
from tests.policies.scripted import ScriptedModel, says

SETTINGS = {"theta": 0.8, "model_fingerprint": "dice"}


def asked(count: int) -> list[Asked]:
    """Questions q1, q2, ..."""
    return [Asked(f"q{number}", f"Who was number {number}?", number) for number in range(1, count + 1)]


async def answer_to(one: Asked) -> Answer:
    """An answer that depends on the question alone."""
    model = ScriptedModel([says(f" It was {one.id}", 0.9, ".", 0.7, stop="eos")])
    return await METHODS["no_retrieval"].answer(model, None, one.question, NONE, Rules(), None)


async def slow_answer_to(one: Asked) -> Answer:
    """The same some milliseconds later; every seventh fails."""
    await asyncio.sleep(random.random() * 0.01)
    if int(one.id[1:]) % 7 == 0:
        raise ValueError(f"{one.id} cannot be answered")
    return await answer_to(one)


async def never_the_last(one: Asked, count: int) -> Answer:
    """Slow answers, and none at all to question number `count`."""
    if one.id == f"q{count}":
        await asyncio.Event().wait()
    return await slow_answer_to(one)


def work_on(folder: Path, count: int, held: bool = False) -> None:
    """Begins a run or goes on with it."""
    answered = partial(never_the_last, count=count) if held else slow_answer_to
    with RunFolder(folder) as run:
        if run.begun:
            run.check(SETTINGS, asked(count))
        else:
            run.begin(SETTINGS, asked(count))
        with closing(Record(folder, run.run)) as record:
            print("working", flush=True)
            work = Work(Choice().pending(run.questions, record), record)
            asyncio.run(work.run(answered, lambda: None, concurrency=4))
            record.session({})


if __name__ == "__main__":
    work_on(Path(sys.argv[1]), int(sys.argv[2]), held="held" in sys.argv[3:])
