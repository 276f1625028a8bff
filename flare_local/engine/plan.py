"""Which rows of a packed forward read which keys: made once a forward on the host, used by every layer."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch

from flare_local.engine.slots import Run, joined, size, slot_ids, split
from flare_local.spans import Kind, span

LONG_RUN = 32  # slots; a shorter run is gathered with its like, as a view would cost more calls than it saves bytes


@dataclass(frozen=True)
class Stretch:
    """The new tokens of one sequence in a packed forward."""

    tokens: Sequence[int]
    context: Sequence[Run]  # slots of all tokens before them, in order of position
    slots: Sequence[Run]  # slots that take the K and V of `tokens`
    read: Sequence[int]  # offsets in `tokens` whose logits are wanted

    @property
    def position(self) -> int:
        """Position of the first new token."""
        return size(self.context)


@dataclass(frozen=True)
class Part:
    """Some rows attend to some keys. Every row sees every key, unless `mask` or `causal` says otherwise.

    `rows` selects of the T packed rows, `keys` of the pool's slots, or with `own` of the T new keys.
    """

    rows: slice | torch.Tensor
    keys: slice | torch.Tensor
    own: bool = False
    causal: bool = False  # row i sees keys 0..i (own keys only)
    mask: torch.Tensor | None = None  # bool [rows, keys], True = seen
    first: bool = False  # no part before this one touched these rows


@dataclass
class Plan:
    """The attention of one packed forward on one device. Nothing here waits for the device."""

    stretches: Sequence[Stretch]
    device: torch.device
    write: slice | torch.Tensor = field(init=False)
    _parts: dict[int | None, list[Part]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.write = _selection(joined([run for stretch in self.stretches for run in stretch.slots]), self.device)

    def parts(self, window: int | None) -> list[Part]:
        """What is read under a sliding window of `window` tokens (None: all); made on first use, then kept."""
        longest = max(stretch.position + len(stretch.tokens) for stretch in self.stretches)
        if window is not None and window >= longest:
            window = None
        if window not in self._parts:
            with span(Kind.PLAN, "rows and keys"):
                self._parts[window] = self._full() if window is None else self._windowed(window)
        return self._parts[window]

    def _full(self) -> list[Part]:
        shared: dict[Run, list[tuple[int, int]]] = {}  # a long run -> the rows of all sequences that read it
        rest: list[tuple[int, int, list[Run]]] = []
        row = 0
        for stretch in self.stretches:
            end = row + len(stretch.tokens)
            runs = joined([*stretch.context, *(stretch.slots if end - row == 1 else [])])
            for run in runs:
                if run[1] >= LONG_RUN:
                    shared.setdefault(run, []).append((row, end))
            short = [run for run in runs if run[1] < LONG_RUN]
            if short:
                rest.append((row, end, short))
            row = end
        parts = _OrderedParts(row, self.device)
        for (start, length), rows in shared.items():
            parts.add(rows, slice(start, start + length))
        for begin, end, short in rest:
            parts.add([(begin, end)], _selection(short, self.device))
        row = 0
        for stretch in self.stretches:
            end = row + len(stretch.tokens)
            if end - row > 1:
                parts.add([(row, end)], slice(row, end), own=True, causal=True)
            row = end
        return parts.made

    def _windowed(self, window: int) -> list[Part]:
        """Row at position p sees keys in (p - window, p]."""
        row = 0
        parts = _OrderedParts(row, self.device)
        for stretch in self.stretches:
            count, position = len(stretch.tokens), stretch.position
            first = max(0, position - window + 1)  # the lowest key that the first row sees
            rows = [(row, row + count)]
            _, seen = split(stretch.context, first)
            if count == 1:
                parts.add(rows, _selection(joined([*seen, *stretch.slots]), self.device))
            else:
                at = torch.arange(count, device=self.device)[:, None] + position
                if seen:
                    old = torch.arange(first, position, device=self.device)
                    parts.add(rows, _selection(seen, self.device), mask=old > at - window)
                new = torch.arange(position, position + count, device=self.device)
                parts.add(rows, slice(row, row + count), own=True, mask=(new <= at) & (new > at - window))
            row += count
        return parts.made


class _OrderedParts:
    """Parts in the order they run, each knowing whether its rows were touched before."""

    def __init__(self, rows: int, device: torch.device) -> None:
        self.made: list[Part] = []
        self._device = device
        self._touched: set[int] = set()

    def add(
        self,
        rows: Sequence[tuple[int, int]],
        keys: slice | torch.Tensor,
        *,
        own: bool = False,
        causal: bool = False,
        mask: torch.Tensor | None = None,
    ) -> None:
        ids = {row for begin, end in rows for row in range(begin, end)}
        # Rows that are new together make one part; a mix is split, so that `first` holds for a whole part.
        for group, first in ((ids - self._touched, True), (ids & self._touched, False)):
            if group:
                runs = joined([(row, 1) for row in sorted(group)])
                self.made.append(Part(_selection(runs, self._device), keys, own, causal, mask, first))
        self._touched |= ids


def _selection(runs: Sequence[Run], device: torch.device) -> slice | torch.Tensor:
    """One run as a slice (a view, no copy), several as an index tensor."""
    if len(runs) == 1:
        return slice(runs[0][0], runs[0][0] + runs[0][1])
    return torch.tensor(slot_ids(runs), dtype=torch.long, device=device)
