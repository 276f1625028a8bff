"""A packed forward as Triton's kernels read it: numbers for the GPU, padded so that few shapes occur.

Padding is one more stretch: token 0 in a slot that nobody owns. Its rows are computed like all others and never read.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from flare_kernels.tables import Tables

from flare_local.engine.plan import Stretch
from flare_local.engine.slots import Run

FEW_ROWS = 64  # up to here rows are padded to powers of two, beyond to multiples of it
FEW_BLOCKS = 16  # blocks of rows kept free for stretches that do not fill theirs
SHORTEST = 256  # keys; lengths are padded to this times powers of two


@dataclass(frozen=True)
class Shape:
    """What a forward is padded to: forwards of one shape launch the same kernels over the same numbers of programs."""

    rows: int
    reads: int  # rows whose logits are computed
    blocks: int
    block_queries: int
    longest: int  # keys


@dataclass(frozen=True)
class Packing:
    """The numbers of one forward, on the host."""

    shape: Shape
    read: int  # logits that were asked for, of `shape.reads`
    rows: torch.Tensor  # int64 [3 * rows + reads]: token ids, positions, slots written, rows read
    blocks: torch.Tensor  # int32 [blocks, 4], as in `Tables`
    slots: torch.Tensor  # int32 [keys of all sequences]


@dataclass(frozen=True)
class Inputs:
    """The same on one device: views of fixed places, so that what is recorded over them can be run again."""

    ids: torch.Tensor  # [1, rows]
    positions: torch.Tensor  # [1, rows]
    write: torch.Tensor  # [rows]
    reads: torch.Tensor  # [reads]
    tables: Tables

    def on(self, device: torch.device) -> "Inputs":
        """What attention needs of it on another device, for models that are spread over several."""
        tables = self.tables
        moved = Tables(tables.slots.to(device), tables.blocks.to(device), tables.block_queries, tables.longest)
        return Inputs(self.ids, self.positions, self.write.to(device), self.reads, moved)


def pack(stretches: Sequence[Stretch], scratch: int) -> Packing:
    """Pads and packs. `scratch` is the slot that padding writes to and reads."""
    asked = sum(len(stretch.tokens) for stretch in stretches)
    rows = padded_rows(asked)
    read: list[int] = []
    row = 0
    for stretch in stretches:
        read += [row + offset for offset in stretch.read]
        row += len(stretch.tokens)
    if rows > asked:
        padding = rows - asked
        stretches = [*stretches, Stretch([0] * padding, [], [(scratch, 1)] * padding, [])]
    reads = rows if rows <= FEW_ROWS or len(read) > FEW_ROWS else FEW_ROWS
    block_queries = _block_queries(max(len(stretch.tokens) for stretch in stretches))
    blocks = _blocks(stretches, block_queries)
    room = min(rows, -(-rows // block_queries) + FEW_BLOCKS)
    room = room if len(blocks) <= room else rows
    longest = max(stretch.position + len(stretch.tokens) for stretch in stretches)
    ids = [token for stretch in stretches for token in stretch.tokens]
    positions = [at for each in stretches for at in range(each.position, each.position + len(each.tokens))]
    write = torch.cat([_slots(stretch.slots) for stretch in stretches])
    numbers = torch.tensor([*ids, *positions, *([0] * rows), *read, *([0] * (reads - len(read)))])
    numbers[2 * rows : 3 * rows] = write
    return Packing(
        Shape(rows, reads, room, block_queries, padded_length(longest)),
        len(read),
        numbers,
        torch.tensor(blocks + [(0, 0, 0, 0)] * (room - len(blocks)), dtype=torch.int32),
        torch.cat([_slots([*stretch.context, *stretch.slots]) for stretch in stretches]).int(),
    )


def padded_rows(rows: int) -> int:
    """The number of rows that a forward of `rows` is padded to."""
    return 1 << (rows - 1).bit_length() if rows <= FEW_ROWS else -(-rows // FEW_ROWS) * FEW_ROWS


def padded_length(keys: int) -> int:
    """The number of keys that a forward is launched for whose longest sequence has `keys`."""
    return max(SHORTEST, 1 << (keys - 1).bit_length())


def _block_queries(longest: int) -> int:
    """Rows a block: few where stretches are short, as empty rows are computed too."""
    return 1 if longest == 1 else 4 if longest <= 8 else 16


def _blocks(stretches: Sequence[Stretch], block_queries: int) -> list[tuple[int, int, int, int]]:
    blocks = []
    row = table = 0
    for stretch in stretches:
        count = len(stretch.tokens)
        for done in range(0, count, block_queries):
            blocks.append((row + done, min(block_queries, count - done), table, stretch.position + done))
        row += count
        table += stretch.position + count
    return blocks


def _slots(runs: Sequence[Run]) -> torch.Tensor:
    """Every slot of these runs, in order, without a Python number for each."""
    if not runs:
        return torch.empty(0, dtype=torch.long)
    return torch.cat([torch.arange(start, start + length) for start, length in runs])


class Buffers:
    """Room on a device for the numbers of any forward up to some size. One forward's numbers replace the last one's."""

    def __init__(self, rows: int, keys: int, device: torch.device) -> None:
        self._rows = torch.zeros(4 * rows, dtype=torch.long, device=device)
        self._blocks = torch.zeros(rows, 4, dtype=torch.int32, device=device)
        self._slots = torch.zeros(keys, dtype=torch.int32, device=device)

    def hold(self, packing: Packing) -> bool:
        """Whether they are large enough."""
        return packing.shape.rows <= len(self._blocks) and len(packing.slots) <= len(self._slots)

    def put(self, packing: Packing) -> Inputs:
        """Copies the numbers in. The views depend on the shape alone."""
        shape = packing.shape
        self._rows[: len(packing.rows)].copy_(packing.rows)
        self._blocks[: shape.blocks].copy_(packing.blocks)
        self._slots[: len(packing.slots)].copy_(packing.slots)
        ids, positions, write = self._rows[: 3 * shape.rows].view(3, shape.rows)
        return Inputs(
            ids[None],
            positions[None],
            write,
            self._rows[3 * shape.rows : len(packing.rows)],
            Tables(self._slots, self._blocks[: shape.blocks], shape.block_queries, shape.longest),
        )
