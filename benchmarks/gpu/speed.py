"""Forwards and an answer of models with real shapes: milliseconds, share of the bandwidth, tokens a second.

Weights are random, so what an answer says is scripted: the token source gives the same drafts and sentences to every
way of running, and half of each draft stays in the sentence.
"""

import asyncio
import random
import time
from collections.abc import Sequence
from typing import Any

import torch

from benchmarks.gpu.figures import Figures
from benchmarks.gpu.machine import Machine
from benchmarks.gpu.models import REAL, REHEARSED, make, weight_bytes
from flare_local.engine.call import Call, Tokens
from flare_local.engine.engine import Engine
from flare_local.engine.forward import PackedForward
from flare_local.engine.kernels import Kernels
from flare_local.engine.model import LoadedModel
from flare_local.engine.plan import Stretch
from flare_local.engine.pool import KVPool

# name, sequences, new tokens each
FORWARDS = (("decode", 1, 1), ("verify", 1, 8), ("verify", 1, 32), ("decode of 16", 16, 1), ("prefill", 1, 448))


def measure(machine: Machine, figures: Figures, bandwidth: float, name: str) -> None:
    """One model: forwards on every way of running, then an answer."""
    kind, options = (REHEARSED if machine.rehearsal else REAL)[name]
    dtype = torch.float32 if machine.rehearsal else torch.bfloat16
    model = make(kind, options, dtype, machine.device)
    for way, kernels, graphs in (
        ("torch", "torch", False),
        ("triton", "triton", False),
        ("triton+graphs", "triton", True),
    ):
        if not graphs or machine.device.type == "cuda":
            _forwards(machine, figures, bandwidth, name, model, way, kernels, graphs)
    for way, reuse, kernels in (("naive", False, "torch"), ("engine", True, "torch"), ("engine", True, "triton")):
        _answer(machine, figures, name, model, way, kernels, reuse)


def _forwards(
    machine: Machine,
    figures: Figures,
    bandwidth: float,
    name: str,
    model: LoadedModel,
    way: str,
    kernels: Kernels,
    graphs: bool,
) -> None:
    before = 40 if machine.rehearsal else 3000
    forward = PackedForward(model.module, model.device, kernels)
    pool = KVPool(forward.probe(), before + 16 * 512)
    for buffer in pool.keys + pool.values:
        buffer.zero_()
    for what, sequences, count in FORWARDS[:2] if machine.rehearsal else FORWARDS:
        stretches = [
            Stretch(
                [1] * count,
                [(0, before)],
                [(before + 512 * i, count)],
                range(count) if what == "verify" else [count - 1],
            )
            for i in range(sequences)
        ]
        forward(stretches, pool)
        if forward._padded is not None and not graphs:
            forward._padded._records, forward._padded._graphs = False, {}
        ms = machine.milliseconds(lambda s=stretches: forward(s, pool))
        recorded = forward._padded is not None and bool(forward._padded._graphs)
        token_bytes = sum(layer.bytes_per_slot for layer in pool.layers)
        read = weight_bytes(model) + sequences * (before + count) * token_bytes
        figures.take(
            f"forward, {what}",
            model=name,
            way=way,
            graphs=recorded,
            sequences=sequences,
            new=count,
            cached=before,
            ms=ms,
            bandwidth_share=read / ms / 1e6 / bandwidth,
            tokens_per_s=sequences * count / ms * 1e3,
        )


class Scripted:
    """The forward of an engine whose next tokens are written down: logits are computed, then overruled."""

    def __init__(self, forward: PackedForward) -> None:
        self._forward = forward
        self.next: dict[int, int] = {}  # position -> the token that stands there; of the one call that runs

    def __getattr__(self, name: str) -> Any:
        return getattr(self._forward, name)

    def __call__(self, stretches: Sequence[Stretch], pool: KVPool) -> torch.Tensor:
        logits = self._forward(stretches, pool)
        places = [each.position + offset + 1 for each in stretches for offset in each.read]
        rows = [row for row, place in enumerate(places) if place in self.next]
        if not rows:
            return logits
        tokens = torch.tensor([self.next[places[row]] for row in rows], device=logits.device)
        logits = logits.clone()
        logits[torch.tensor(rows, device=logits.device), tokens] = 1e4
        return logits


def _answer(
    machine: Machine, figures: Figures, name: str, model: LoadedModel, way: str, kernels: Kernels, reuse: bool
) -> None:
    """Sentences of 25 tokens: a draft, then documents of 450 tokens, then the sentence. Naive: 64 tokens each call."""
    exemplars, documents, sentences, length = (30, 10, 1, 4) if machine.rehearsal else (2600, 450, 4, 25)
    generated = length if reuse else (2 * length if machine.rehearsal else 64)
    rng = random.Random(0)
    shared = [rng.randrange(200) for _ in range(exemplars)]
    asked = [rng.randrange(200) for _ in range(exemplars // 60 + 5)]
    with Engine(model, slots=2 * (exemplars + documents) + 2048, kernels=kernels, reuse=reuse) as engine:
        scripted = Scripted(engine._loop._forward)
        engine._loop._forward = scripted  # type: ignore[assignment]

        def say(prompt: list[int], script: list[int], proposed: list[int]) -> None:
            scripted.next = {len(prompt) + i: token for i, token in enumerate(script)}
            call = Call(tuple(prompt), Tokens(generated), generated, stop=(), speculate=tuple(proposed))
            asyncio.run(engine.generate(call))

        def answer() -> None:
            said: list[int] = []
            for _ in range(sentences):
                draft = [rng.randrange(200) for _ in range(64)]
                sentence = draft[: length // 2] + [rng.randrange(200) for _ in range(64 - length // 2)]
                say([*shared, *asked, *said], draft, [])
                found = [rng.randrange(200) for _ in range(documents)]
                say([*shared, *found, *asked, *said], sentence, draft[:length])
                said += sentence[:length]

        if reuse:
            answer()  # compiles, records, and has the exemplars in the pool
        machine.wait()
        begun = time.perf_counter()
        answer()
        machine.wait()
        seconds = time.perf_counter() - begun
    figures.take(
        "answer",
        model=name,
        way=f"{way}, {kernels}",
        sentences=sentences,
        seconds=seconds,
        tokens_per_s=sentences * length / seconds,
    )
