"""The engine's counters against a trie and a meter of the oracle's own, over runs of many questions."""

import asyncio
import random

import pytest
import torch

from flare_local.engine.counters import Counters
from flare_local.policies.methods import METHODS
from flare_local.trace.events import Answer
from tests.engine.exactness import CorpusRetriever, Pair, exemplars_of, random_options, rules_of, slots_needed
from tests.oracle.floor import ForwardMeter, TokenTrie
from tests.oracle.options import Options
from tests.tiny_models import tiny_questions


def run(pair: Pair, cases: list[tuple[Options, str]], slots: int, at_once: bool) -> tuple[list[Answer], ForwardMeter]:
    """Answers by one engine, and what went through its model meanwhile."""

    async def one(options: Options, question: str) -> Answer:
        policy = METHODS[options.method].answer
        lm = engine.question(question)
        return await policy(lm, CorpusRetriever(), question, exemplars_of(options), rules_of(options), None)

    async def all_of_them() -> list[Answer]:
        if at_once:
            return await asyncio.gather(*(one(*case) for case in cases))
        return [await one(*case) for case in cases]

    with pair.engine(slots, max_forward_tokens=64) as engine:
        meter = ForwardMeter(pair.loaded.module)
        answers = asyncio.run(all_of_them())
        meter.close()
    return answers, meter


def total(answers: list[Answer]) -> Counters:
    counters = Counters()
    for answer in answers:
        counters.add(answer.counters)
    return counters


@pytest.fixture(scope="module")
def pair() -> Pair:
    return Pair("qwen3", torch.float64, 5)


@pytest.fixture(scope="module")
def cases() -> list[tuple[Options, str]]:
    rng = random.Random(2)
    return [(random_options(rng), question) for question in tiny_questions(10, 21)]


def test_floor_of_each_answer_is_what_it_adds_to_a_trie(pair: Pair, cases: list[tuple[Options, str]]) -> None:
    answers, _ = run(pair, cases, 8192, at_once=False)
    trie = TokenTrie()
    for answer in answers:
        calls = [(w.prompt, w.tokens) for w in answer.writings]
        assert answer.counters.floor == trie.add_calls(calls)
        assert answer.counters.calls == len(calls)
        assert answer.counters.prompt_tokens == sum(len(prompt) for prompt, _ in calls)


@pytest.mark.parametrize("at_once", [False, True])
@pytest.mark.parametrize("pool", ["ample", "tight"])
def test_tokens_run_are_those_that_went_through_the_model(
    pair: Pair, cases: list[tuple[Options, str]], pool: str, at_once: bool
) -> None:
    slots = 8192 if pool == "ample" else slots_needed(run(pair, cases, 8192, at_once=False)[0])
    answers, meter = run(pair, cases, slots, at_once)
    counters = total(answers)
    assert counters.run == meter.tokens
    assert meter.forwards <= counters.forwards if at_once else meter.forwards == counters.forwards
    assert (counters.recomputed > 0) == (counters.evicted > 0) == (pool == "tight")
    trie = TokenTrie()
    floor = trie.add_calls((w.prompt, w.tokens) for answer in answers for w in answer.writings)
    assert counters.floor == floor
    assert counters.wasted >= 0
    # The last token of a call has to be run only where another call goes on from it.
    assert floor - counters.calls <= counters.useful <= floor
    if pool == "ample":
        assert counters.run - counters.wasted <= floor


def test_drafts_are_never_waste(pair: Pair) -> None:
    """Without proposals that fail (nothing triggers), only tokens past a cut can be wasted."""
    options = Options(theta=0.0, look_ahead=24, max_new_tokens=64, initial_retrieval=False)
    answers, _ = run(pair, [(options, question) for question in tiny_questions(4, 22)], 8192, at_once=False)
    counters = total(answers)
    assert counters.drafted == 0
    assert counters.calls > 8
    assert counters.wasted <= 4 * 24  # only the last call of an answer ran on past its cut for nothing


def test_naive_mode_runs_every_prompt_again(pair: Pair) -> None:
    options = Options(theta=0.2, max_new_tokens=48)
    question = tiny_questions(1, 23)[0]
    with pair.engine(8192, reuse=False) as engine:
        meter = ForwardMeter(pair.loaded.module)
        answer = pair.answer(engine, options, question)
        meter.close()
    assert answer.counters.run == meter.tokens >= answer.counters.prompt_tokens
    assert answer.counters.reused == 0
