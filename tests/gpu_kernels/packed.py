"""Packed rows over scattered slots, for the tests of the kernels."""

import random
from dataclasses import dataclass

import torch
from flare_kernels.tables import Tables

POOL = 700  # slots


@dataclass(frozen=True)
class Packed:
    """One layer's pool, its tables and the queries of some rows. What no row may read is NaN."""

    query: torch.Tensor
    keys: torch.Tensor
    values: torch.Tensor
    tables: Tables

    def wide(self) -> "Packed":
        """The same numbers in fp64."""
        return Packed(self.query.double(), self.keys.double(), self.values.double(), self.tables)


def packed(
    sequences: list[tuple[int, int]],  # tokens in the pool before, rows
    heads: int,
    kv_heads: int,
    dims: tuple[int, int],
    dtype: torch.dtype,
    block_queries: int,
    seed: int = 0,
    padding: int = 0,
) -> Packed:
    """Sequences whose slots lie anywhere in the pool, cut into blocks, and `padding` blocks of count 0."""
    rng, generator = random.Random(seed), torch.Generator().manual_seed(seed)
    free = rng.sample(range(POOL), POOL)
    slots: list[int] = []
    blocks: list[tuple[int, int, int, int]] = []
    row = 0
    for before, count in sequences:
        table = len(slots)
        slots += free[: before + count]
        del free[: before + count]
        for done in range(0, count, block_queries):
            blocks.append((row + done, min(block_queries, count - done), table, before + done))
        row += count
    blocks += [(0, 0, 0, 0)] * padding

    def pool(dim: int) -> torch.Tensor:
        made = torch.randn(kv_heads, POOL, dim, generator=generator).to(dtype)
        made[:, free] = torch.nan
        return made

    # As models hand it over: a view of [rows, heads * dim].
    query = torch.randn(row, heads, dims[0], generator=generator).to(dtype).transpose(0, 1)
    longest = max(before + count for before, count in sequences)
    tables = Tables(torch.tensor(slots).int(), torch.tensor(blocks).int(), block_queries, longest)
    return Packed(query, pool(dims[0]), pool(dims[1]), tables)
