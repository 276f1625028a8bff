"""The engine against a plain oracle in fp32: one forward of the unmodified model over everything that was said."""

import asyncio
import random
from dataclasses import replace

import torch

from benchmarks.gpu.figures import Figures
from benchmarks.gpu.machine import Machine
from benchmarks.gpu.models import SIZES, SMALL, make
from flare_local.engine.call import Call, Generation, Tokens
from flare_local.engine.engine import Engine
from flare_local.engine.model import LoadedModel

NEAR_TIE = 1e-3  # of two logits: below it either may be taken
WITHIN = 1e-4  # of two probabilities


def check_engine(machine: Machine, figures: Figures) -> None:
    """Each kind of attention: calls with shared prefixes, proposals right and wrong, several at once."""
    for kind, options in list(SMALL.items())[: 1 if machine.rehearsal else None]:
        model = make(kind, {**SIZES, **options}, torch.float32, machine.device)
        calls = _calls(2 if machine.rehearsal else 12, 4 if machine.rehearsal else 40)
        with Engine(model, slots=4096, kernels="triton", max_forward_tokens=64, poison=True) as engine:
            said = asyncio.run(_all(engine, calls))
            forward = engine._loop._forward._padded
            graphs = 0 if forward is None else len(forward._graphs)
        wrong, ties, distance = _compare(model, calls, said)
        tokens = sum(len(generation.tokens) for generation in said)
        figures.take(
            f"engine against the oracle, {kind}",
            tokens=tokens,
            wrong=wrong,
            near_ties=ties,
            probability_distance=distance,
            graphs=graphs,
            right=wrong == 0 and distance < WITHIN and ties * 1000 <= tokens + 1000,
        )
        if machine.device.type == "cuda" and not graphs:
            figures.take("no CUDA graphs", kind=kind, reason="recording failed or did not repeat")


def _calls(count: int, length: int) -> list[Call]:
    """Prompts that begin alike; half of the calls have something proposed."""
    rng = random.Random(0)
    prefix = [rng.randrange(500) for _ in range(20)]
    calls = []
    for number in range(count):
        prompt = (*prefix[: rng.choice([10, 20])], *(rng.randrange(500) for _ in range(rng.randint(1, length))))
        proposed = tuple(rng.randrange(500) for _ in range(5)) if number % 2 else ()
        calls.append(Call(prompt, Tokens(length), length, stop=(), speculate=proposed))
    return calls


async def _all(engine: Engine, calls: list[Call]) -> list[Generation]:
    first = await asyncio.gather(*(engine.generate(call) for call in calls))
    # Again with what was said as a proposal, which must change nothing.
    pairs = zip(tuple(calls), first, strict=True)
    again = [replace(call, prompt=call.prompt[:-1], speculate=generation.tokens) for call, generation in pairs]
    calls += again
    return [*first, *[await engine.generate(call) for call in again]]


def _compare(model: LoadedModel, calls: list[Call], said: list[Generation]) -> tuple[int, int, float]:
    """Tokens that are not the arg max, those among them that nearly are, the largest distance of probabilities."""
    model.module.set_attn_implementation("eager")
    wrong = ties = 0
    distance = 0.0
    for call, generation in zip(calls, said, strict=True):
        ids = torch.tensor([[*call.prompt, *generation.tokens]], device=model.device)
        with torch.inference_mode():
            logits = model.module(input_ids=ids, use_cache=False).logits[0, len(call.prompt) - 1 : -1].float()
        tokens = torch.tensor(generation.tokens, device=model.device)
        gap = logits.amax(-1) - logits.gather(-1, tokens[:, None])[:, 0]
        ties += int(((gap > 0) & (gap < NEAR_TIE)).sum())
        wrong += int((gap >= NEAR_TIE).sum())
        exact = logits.softmax(-1).gather(-1, tokens[:, None])[:, 0]
        distance = max(distance, float((exact.cpu() - torch.tensor(generation.probabilities)).abs().max()))
    return wrong, ties, distance
