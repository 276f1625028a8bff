"""Runs a program: the oracle alone, the product on its engine, and both compared."""

import asyncio
from functools import cache

import torch

from flare_local.engine.engine import Engine
from flare_local.errors import PromptTooLong
from flare_local.trace.events import Answer
from tests.engine.exactness import Pair, ask, check_integrity, trace_of
from tests.fuzz.meter import Meter
from tests.fuzz.program import Program
from tests.fuzz.words import CORPUS, ShortRetriever, spoken
from tests.oracle.budget import Refused
from tests.oracle.margin import Margin
from tests.oracle.options import Options
from tests.oracle.policy import answer as oracle_answer
from tests.oracle.trace import Trace, differences

MARGIN = Margin()  # of all fp32 answers together
ROOM = 4096  # slots; far more than any program needs


@cache
def pair_of(arch: str, kind: str, dtype: torch.dtype) -> Pair:
    """Product and oracle on one model, made once."""
    return Pair(arch, dtype, 9, kind, margin=Margin(exact=True) if dtype == torch.float64 else MARGIN)


def run(program: Program, meter: Meter) -> None:
    """Fails where the product's answers are not the oracle's; a question that one refuses the other must refuse."""
    pair = pair_of(program.arch, program.kind, program.dtype)
    pair.naive.seen.clear()
    pair.naive.calls.clear()
    with spoken(program.words):
        expected = [reference(pair, options, question) for options, question in program.cases]
        with pair.engine(
            slots_for(program, expected),
            context=program.cases[0][0].context,
            max_forward_tokens=program.max_forward_tokens,
            lookup=program.lookup,
            reuse=program.reuse,
        ) as engine:
            answers = asyncio.run(answers_of(engine, program))
            check_integrity(engine)
        for (options, question), own, answer in zip(program.cases, expected, answers, strict=True):
            compare(pair, options, question, own, answer)
    meter.see_all(program, answers)


async def answers_of(engine: Engine, program: Program) -> list[Answer | None]:
    """The product's answers, all at once; None for a question that it refuses."""

    async def one(options: Options, question: str) -> Answer | None:
        try:
            return await ask(engine, options, question, program.search_ahead, retriever=ShortRetriever())
        except PromptTooLong:
            return None

    return await asyncio.gather(*(one(*case) for case in program.cases))


def reference(
    pair: Pair, options: Options, question: str, lead: Trace | None = None, margin: Margin | None = None
) -> Trace | None:
    """The oracle's answer; None for a question that it refuses."""
    try:
        return oracle_answer(pair.naive, CORPUS.search, options, question, lead=lead, margin=margin)
    except Refused:
        return None


def compare(pair: Pair, options: Options, question: str, own: Trace | None, answer: Answer | None) -> None:
    """Fails where the two are not the same. `own`: the oracle's answer without having seen the product's."""
    trace = None if answer is None else trace_of(answer)
    if not pair.margin.exact:
        own = reference(pair, options, question, trace, pair.margin)
    if trace is None or own is None:
        assert trace == own, f"{question} under {options}: refused by the {'product' if own else 'oracle'} alone"
        return
    found = differences(trace, own, pair.tolerance)
    assert not found, f"{question} under {options}: product against oracle: " + "; ".join(found[:4])


def slots_for(program: Program, expected: list[Trace | None]) -> int:
    """Slots of the pool: what the longest call needs, and some.

    A question may be refused after some calls, of which nothing is known but that they fit the context. In fp32 the
    product's calls may, at a near tie, be others than the oracle's: there twice as much.
    """
    calls = [call for trace in expected if trace is not None for call in trace["calls"]]
    needs = [len(call["prompt"]) + call["limit"] for call in calls]
    needs += [
        options.context or 0 for (options, _), trace in zip(program.cases, expected, strict=True) if trace is None
    ]
    longest = max(needs)
    if program.spare is None:
        return ROOM
    return longest * (1 if program.dtype == torch.float64 else 2) + program.spare
