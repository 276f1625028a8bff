"""Logits of the packed forward against one plain forward, on every architecture: chunks, branches, scattered slots."""

import random
from pathlib import Path

import pytest
import torch

from flare_local.engine.forward import PackedForward
from flare_local.engine.plan import Stretch
from flare_local.engine.pool import KVPool
from flare_local.engine.self_check import check_model
from flare_local.engine.slots import joined
from tests.engine.exactness import tiny_loaded
from tests.oracle.naive import NaiveModel
from tests.tiny_models import ARCHITECTURES, VARIANTS, WINDOW, tiny_model, tiny_tokenizer

# Largest logit difference; the logits' standard deviation is 5. fp64: RMSNorm rounds to fp32 inside.
LIMITS = {torch.float64: 1e-6, torch.float32: 2e-3}
PREFIX, TAIL = 3 * WINDOW + 5, 2 * WINDOW + 3  # tokens that both branches share, and that each has of its own
SLOTS = 256


class Sequence:
    """Tokens that go through the engine's forward piece by piece, in slots that lie anywhere."""

    def __init__(self, tokens: list[int], slots: list[int], done: int = 0) -> None:
        self.tokens = tokens
        self.slots = slots
        self.done = done

    def stretch(self, count: int) -> Stretch:
        """The next `count` tokens, all of their logits wanted."""
        begin, end = self.done, min(self.done + count, len(self.tokens))
        self.done = end
        runs = [(slot, 1) for slot in self.slots]
        return Stretch(self.tokens[begin:end], joined(runs[:begin]), joined(runs[begin:end]), range(end - begin))


def engine_logits(arch: str, dtype: torch.dtype, rows: list[list[int]], seed: int) -> list[torch.Tensor]:
    """[tokens, vocabulary] for each of two rows that share a prefix: the prefix in chunks, then both rows packed."""
    rng = random.Random(seed)
    forward = PackedForward(tiny_model(arch, dtype), torch.device("cpu"))
    pool = KVPool(forward.probe(), SLOTS, poison=True)
    order = list(range(SLOTS))
    if seed % 2:
        rng.shuffle(order)
    first = Sequence(rows[0], order[: len(rows[0])])
    logits: list[list[torch.Tensor]] = [[], []]
    while first.done < PREFIX:
        logits[0].append(forward([first.stretch(min(rng.choice([1, 7, 40]), PREFIX - first.done))], pool))
    logits[1] = list(logits[0])
    own = order[len(rows[0]) : len(rows[0]) + TAIL]
    second = Sequence(rows[1], order[:PREFIX] + own, done=PREFIX)
    for counts in ((5, 9), (1, 1), (1, 4), (9, 1), (TAIL, TAIL)):
        before = first.done
        got = forward([first.stretch(counts[0]), second.stretch(counts[1])], pool)
        logits[0].append(got[: first.done - before])
        logits[1].append(got[first.done - before :])
    return [torch.cat(parts) for parts in logits]


@pytest.mark.parametrize("dtype", LIMITS, ids=["fp64", "fp32"])
@pytest.mark.parametrize("arch", [*ARCHITECTURES, *VARIANTS])
def test_chunks_and_branches_give_the_logits_of_one_plain_forward(arch: str, dtype: torch.dtype) -> None:
    rng = random.Random(arch)
    prefix = [rng.randrange(1, 300) for _ in range(PREFIX)]
    rows = [prefix + [rng.randrange(1, 300) for _ in range(TAIL)] for _ in range(2)]
    naive = NaiveModel(tiny_model(arch, dtype), tiny_tokenizer())
    for seed in (0, 1):
        for row, got in zip(rows, engine_logits(arch, dtype, rows, seed), strict=True):
            with torch.inference_mode():
                own = naive.model(input_ids=torch.tensor([row]), use_cache=False).logits[0]
            assert got.dtype == dtype
            assert (got - own).abs().max() < LIMITS[dtype]


@pytest.mark.parametrize("arch", [*ARCHITECTURES, *VARIANTS])
def test_self_check_passes(arch: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLARE_CACHE", str(tmp_path))
    for dtype in (torch.float32, torch.bfloat16):
        checked = check_model(tiny_loaded(arch, dtype), fresh=True)
        assert checked.distance <= checked.allowed
        assert checked.twin_distance is not None
