"""Work on a run: outcomes as they come, errors that do not stop the rest, and ends of every kind."""

import asyncio
import errno
import json
import os
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from math import nan
from pathlib import Path
from typing import Any

import pytest

from flare_local.errors import DiskFull, FlareError, PromptTooLong
from flare_local.runs.at_once import AnswerOne
from flare_local.runs.choice import Choice
from flare_local.runs.folder import RunFolder
from flare_local.runs.questions import Asked
from flare_local.runs.record import Record
from flare_local.runs.work import Work
from flare_local.trace.events import Answer
from tests.runs.made import SETTINGS, answer_to, asked

QUESTIONS = asked(6)
ALL = Choice()


@pytest.fixture
def run(tmp_path: Path) -> Iterator[RunFolder]:
    with RunFolder(tmp_path / "run") as folder:
        folder.begin(SETTINGS, QUESTIONS)
        yield folder


def work(run: RunFolder, answer: AnswerOne = answer_to, choice: Choice = ALL, **how: Any) -> Work:
    """Works on what is left of a run."""
    concurrency = how.pop("concurrency", 2)
    with closing(Record(run.path, run.run)) as record:
        done = Work(choice.pending(QUESTIONS, record), record, **how)
        asyncio.run(done.run(answer, lambda: None, concurrency=concurrency))
    return done


def lines(run: RunFolder, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run.path / name).read_text().splitlines()]


def ids(run: RunFolder, name: str = "results.jsonl") -> list[str]:
    return [line["id"] for line in lines(run, name)]


def failing(*wrong: str, error: Exception) -> AnswerOne:
    async def answer(one: Asked) -> Answer:
        if one.id in wrong:
            raise error
        return await answer_to(one)

    return answer


def test_every_question_is_answered_once_and_then_nothing_is_left(run: RunFolder) -> None:
    assert work(run).tally.answered == 6
    assert sorted(ids(run)) == [one.id for one in QUESTIONS]
    assert lines(run, "results.jsonl")[0]["answer"] == "It was q1."
    assert work(run).tally.done == 0


def test_a_result_has_no_config_of_its_own_but_names_its_run(run: RunFolder) -> None:
    work(run)
    line = lines(run, "results.jsonl")[0]
    assert "config" not in line
    assert "calls" not in line
    assert line["run"] == run.run


def test_calls_are_written_on_demand(run: RunFolder) -> None:
    work(run, calls=True)
    assert lines(run, "results.jsonl")[0]["calls"][0]["prompt"]


def test_no_more_than_asked_for_run_at_once(run: RunFolder) -> None:
    at_once = most = 0

    async def answer(one: Asked) -> Answer:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        await asyncio.sleep(0.001)
        at_once -= 1
        return await answer_to(one)

    work(run, answer, concurrency=3)
    assert most == 3


def test_an_error_is_recorded_and_the_rest_goes_on(run: RunFolder) -> None:
    done = work(run, failing("q2", error=PromptTooLong("Too long.", "Shorten it.")))
    assert (done.tally.answered, done.tally.failed) == (5, 1)
    (line,) = lines(run, "errors.jsonl")
    assert (line["id"], line["kind"], line["error"]) == ("q2", "PromptTooLong", "Too long. Shorten it.")
    assert "traceback" not in line


def test_a_bug_is_recorded_with_where_it_was(run: RunFolder) -> None:
    work(run, failing("q2", error=KeyError("x")))
    assert "in answer" in lines(run, "errors.jsonl")[0]["traceback"]


def test_failed_questions_are_tried_again_only_on_demand(run: RunFolder) -> None:
    work(run, failing("q2", "q3", error=ValueError("no")))
    assert work(run).tally.done == 0
    assert work(run, failing("q3", error=ValueError("no")), Choice(retry_failed=True)).tally.done == 2
    assert ids(run, "errors.jsonl") == ["q2", "q3", "q3"]
    assert work(run, choice=Choice(retry_failed=True)).tally.answered == 1
    assert sorted(ids(run)) == [one.id for one in QUESTIONS]


def test_it_stops_at_max_errors(run: RunFolder) -> None:
    wrong = failing("q1", "q3", "q5", error=ValueError("no"))
    with pytest.raises(FlareError, match=r"Stopped at 2 failed questions .*no"):
        work(run, wrong, max_errors=2, concurrency=1)
    assert ids(run, "errors.jsonl") == ["q1", "q3"]
    assert ids(run) == ["q2"]
    assert work(run).tally.answered == 3


def test_an_answer_that_json_cannot_hold_is_an_error(run: RunFolder) -> None:
    async def answer(one: Asked) -> Answer:
        answer = await answer_to(one)
        answer.counters.total_ms = nan if one.id == "q4" else 1.0
        return replace(answer)

    work(run, answer)
    assert ids(run, "errors.jsonl") == ["q4"]
    assert len(ids(run)) == 5


def test_a_full_disk_ends_the_work_and_keeps_what_is_complete(run: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write

    def full(file: int, data: Any) -> int:
        if b'"q4"' in bytes(data):
            raise OSError(errno.ENOSPC, "full")
        return write(file, data)

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with pytest.raises(DiskFull, match="The disk is full"):
            work(run)
    assert "q3" in ids(run)
    work(run)
    assert sorted(ids(run)) == [one.id for one in QUESTIONS]


def test_cancelled_it_says_so_and_keeps_what_is_complete(run: RunFolder) -> None:
    said: list[str] = []

    async def answer(one: Asked) -> Answer:
        if one.id == "q4":
            await asyncio.sleep(60)
        return await answer_to(one)

    async def cancelled() -> None:
        with closing(Record(run.path, run.run)) as record:
            done = Work(QUESTIONS, record)
            task = asyncio.ensure_future(done.run(answer, lambda: said.append("interrupted"), concurrency=1))
            await asyncio.sleep(0.2)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(cancelled())
    assert said == ["interrupted"]
    assert ids(run) == ["q1", "q2", "q3"]


Order = Callable[[Choice], list[str]]


@pytest.fixture
def order() -> Order:
    return lambda choice: [one.id for one in choice.chosen(QUESTIONS)]


def test_an_order_of_chance_is_the_same_every_time(order: Order) -> None:
    assert order(Choice(seed=3)) == order(Choice(seed=3)) != order(Choice(seed=4))
    assert sorted(order(Choice(seed=3))) == order(Choice())


def test_a_limit_takes_the_first_of_that_order(order: Order) -> None:
    assert order(Choice(limit=2)) == ["q1", "q2"]
    assert order(Choice(limit=2, seed=3)) == order(Choice(seed=3))[:2]


def test_a_limit_can_be_raised_later(run: RunFolder) -> None:
    assert work(run, choice=Choice(limit=2)).tally.answered == 2
    assert work(run, choice=Choice(limit=2)).tally.answered == 0
    assert work(run).tally.answered == 4
