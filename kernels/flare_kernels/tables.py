"""Slot tables: which rows of a packed forward read which slots of the pool."""

from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Tables:
    """Which rows read which slots.

    Block b is rows `first .. first + count - 1` of one sequence, the first at `position` in it; the sequence's slots
    lie in `slots` from `table` on, in order of position, those of the rows themselves included. A row sees the keys at
    its own position and before. A block of count 0 is padding.
    """

    slots: torch.Tensor  # int32 [any]
    blocks: torch.Tensor  # int32 [blocks, 4]: first, count, table, position
    block_queries: int  # most rows of a block: 1, 4 or 16
    longest: int  # no sequence has more keys than this
