"""Many questions at once on one engine: the same answers as the oracle's, whatever is packed with what."""

import asyncio
import random

import pytest
import torch

from tests.engine.exactness import Pair, ask, check_integrity, random_options, slots_needed
from tests.oracle.options import Options
from tests.tiny_models import tiny_questions

CASES = [("llama", "bytes"), ("mistral", "metaspace"), ("gemma3_text", "bytes"), ("gpt_oss", "metaspace")]


@pytest.mark.parametrize(("arch", "kind"), CASES)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=["fp64", "fp32"])
def test_twelve_questions_at_once(arch: str, kind: str, dtype: torch.dtype) -> None:
    rng = random.Random(f"{arch} at once")
    pair = Pair(arch, dtype, 6, kind)
    cases = [(random_options(rng), question) for question in tiny_questions(12, 31)]

    async def together(slots: int, forward: int) -> list:
        with pair.engine(slots, max_forward_tokens=forward) as engine:
            answers = await asyncio.gather(*(ask(engine, options, question) for options, question in cases))
            check_integrity(engine)
        return answers

    ample = asyncio.run(together(16384, 128))
    assert sum(answer.counters.evicted for answer in ample) == 0
    tight = asyncio.run(together(slots_needed(ample) + 60, 24))
    assert sum(answer.counters.evicted for answer in tight) > 0
    for answers in (ample, tight):
        for (options, _), answer in zip(cases, answers, strict=True):
            pair.compare(answer, options)
    pair.margin.check()


def test_the_same_question_many_times_at_once() -> None:
    """All of them want the same tokens run: it happens once, and nobody waits for ever."""
    pair = Pair("qwen2", torch.float64, 7)
    options = Options(theta=0.2, beta=0.5, max_new_tokens=40)
    question = tiny_questions(1, 32)[0]

    async def together() -> list:
        with pair.engine(4096) as engine:
            return await asyncio.gather(*(ask(engine, options, question) for _ in range(6)))

    answers = asyncio.run(together())
    for answer in answers:
        pair.compare(answer, options)
    alone = asyncio.run(_alone(pair, options, question))
    assert sum(answer.counters.run for answer in answers) <= alone + 6 * 16  # not six times as much


async def _alone(pair: Pair, options: Options, question: str) -> int:
    with pair.engine(4096) as engine:
        return (await ask(engine, options, question)).counters.run


def test_cancelled_questions_leave_the_others_as_they_were() -> None:
    pair = Pair("mistral", torch.float64, 8)
    options = Options(theta=0.2, beta=0.5, max_new_tokens=48)
    questions = tiny_questions(8, 33)

    async def together() -> list:
        with pair.engine(2048, max_forward_tokens=32) as engine:
            tasks = [asyncio.create_task(ask(engine, options, question)) for question in questions]
            await asyncio.sleep(0.05)
            for task in tasks[::2]:
                task.cancel()
            answers = await asyncio.gather(*tasks, return_exceptions=True)
            again = await ask(engine, options, questions[0])
            check_integrity(engine)
        return [*(answer for answer in answers if not isinstance(answer, BaseException)), again]

    answers = asyncio.run(together())
    assert len(answers) >= 5
    for answer in answers:
        pair.compare(answer, options)
