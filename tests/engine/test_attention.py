"""Attention over segments against one dense softmax, for packed sequences with scattered slots."""

import random
from types import SimpleNamespace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from flare_local.engine.attention import Context, attend, serving
from flare_local.engine.plan import Plan, Stretch
from flare_local.engine.pool import KVPool, LayerShape
from flare_local.engine.slots import Run, joined

CPU = torch.device("cpu")


def dense(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    window: int | None,
    softcap: float | None,
    sinks: torch.Tensor | None,
) -> torch.Tensor:
    """Rows are the last tokens of one sequence: query `[heads, n, d]`, key and value `[kv_heads, length, d]`."""
    heads, count, dim = query.shape
    length = key.shape[1]
    key, value = (each.repeat_interleave(heads // each.shape[0], 0).double() for each in (key, value))
    scores = query.double() @ key.transpose(1, 2) * dim**-0.5
    if softcap is not None:
        scores = softcap * (scores / softcap).tanh()
    at = torch.arange(length - count, length)[:, None]
    seen = torch.arange(length) <= at
    if window is not None:
        seen &= torch.arange(length) > at - window
    scores = scores.masked_fill(~seen, -torch.inf)
    if sinks is not None:
        scores = torch.cat([scores, sinks.double()[:, None, None].expand(heads, count, 1)], -1)
    weights = scores.softmax(-1)[..., :length]
    return (weights @ value).transpose(0, 1)


@settings(max_examples=120, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    sequences=st.lists(st.tuples(st.integers(0, 90), st.integers(1, 6)), min_size=1, max_size=4),
    shared=st.sampled_from([0, 0, 40]),
    pieces=st.integers(1, 5),
    window=st.sampled_from([None, None, 3, 8, 50]),
    softcap=st.sampled_from([None, None, 2.0]),
    with_sinks=st.booleans(),
    widths=st.sampled_from([(8, 8), (8, 4)]),
    dtype=st.sampled_from([torch.float64, torch.float32]),
)
def test_packed_sequences_attend_as_each_would_alone(
    seed: int,
    sequences: list[tuple[int, int]],
    shared: int,
    pieces: int,
    window: int | None,
    softcap: float | None,
    with_sinks: bool,
    widths: tuple[int, int],
    dtype: torch.dtype,
) -> None:
    rng, generator = random.Random(seed), torch.Generator().manual_seed(seed)
    heads, kv_heads, (key_dim, value_dim) = 4, 2, widths
    pool = KVPool([LayerShape(kv_heads, key_dim, value_dim, dtype, CPU)], 700, poison=True)

    def scattered(count: int) -> list[Run]:
        runs: list[Run] = []
        for part in range(pieces):
            size = count // pieces + (part < count % pieces)
            pool.allocate(rng.randint(0, 3))
            runs += pool.allocate(size)
        return joined(runs)

    def fill(runs: list[Run]) -> None:
        for start, length in runs:
            for buffer in (pool.keys[0], pool.values[0]):
                shape = buffer[:, start : start + length].shape
                buffer[:, start : start + length] = torch.randn(shape, generator=generator, dtype=dtype)

    prefix = scattered(shared)
    fill(prefix)
    stretches = []
    for context, count in sequences:
        own = scattered(context)
        fill(own)
        stretches.append(Stretch(list(range(count)), joined([*prefix, *own]), scattered(count), []))
    rows = sum(count for _, count in sequences)
    query = torch.randn(1, heads, rows, key_dim, generator=generator, dtype=dtype)
    key = torch.randn(1, kv_heads, rows, key_dim, generator=generator, dtype=dtype)
    value = torch.randn(1, kv_heads, rows, value_dim, generator=generator, dtype=dtype)
    sinks = torch.randn(heads, generator=generator, dtype=dtype) if with_sinks else None
    with serving(Context(pool, {CPU: Plan(stretches, CPU)}, {})):
        out, _ = attend(
            SimpleNamespace(layer_idx=0),  # type: ignore[arg-type]
            query,
            key,
            value,
            None,
            sliding_window=window,
            softcap=softcap,
            s_aux=sinks,
        )
    row = 0
    for stretch in stretches:
        end = row + len(stretch.tokens)
        slots = [slot for start, length in [*stretch.context, *stretch.slots] for slot in range(start, start + length)]
        expected = dense(query[0, :, row:end], pool.keys[0][:, slots], pool.values[0][:, slots], window, softcap, sinks)
        assert (out[0, row:end] - expected).abs().max() < (1e-12 if dtype == torch.float64 else 3e-6)
        row = end


def test_a_prefix_shared_by_several_sequences_is_read_once_for_all_of_them() -> None:
    prefix = [(0, 200)]
    stretches = [Stretch([1], [*prefix, (300 + 10 * i, 5)], [(305 + 10 * i, 1)], [0]) for i in range(5)]
    parts = Plan(stretches, CPU).parts(None)
    readers = [part for part in parts if part.keys == slice(0, 200)]
    assert len(readers) == 1
    assert readers[0].rows == slice(0, 5)


def test_a_sequence_in_one_run_is_read_as_one_view() -> None:
    parts = Plan([Stretch([1], [(10, 200)], [(210, 1)], [0])], CPU).parts(None)
    assert [part.keys for part in parts] == [slice(10, 211)]


@pytest.mark.parametrize("window", [3, 50])
def test_keys_outside_the_window_are_not_read(window: int) -> None:
    [part] = Plan([Stretch([1], [(0, 60)], [(60, 1)], [0])], CPU).parts(window)
    assert part.keys == slice(61 - window, 61)
