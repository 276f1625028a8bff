"""A snapshot: token ids of prefixes with their keys and values, in one safetensors file, read memory-mapped.

Tensors of prefix number i, whose first tokens may stand in an earlier prefix already; n are new in it:
`tokens.i` int64 `[all tokens]`, `keys.i.l` `[heads, n, key_dim]` and `values.i.l` `[heads, n, value_dim]` of layer l.
"""

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open

from flare_local.engine.pool import KVPool
from flare_local.engine.slots import Run, slot_ids
from flare_local.engine.snapshot_header import AGAIN, Header
from flare_local.errors import SnapshotFault

Ids = tuple[int, ...]
DIGEST = "sha256"  # key of the header: of everything else in the file


class Snapshot:
    """An open file. Nothing of it may be used before `check` has passed."""

    def __init__(self, path: Path, file: Any) -> None:
        """`file`: of `safe_open`. Raises `SnapshotFault` where header or token ids are not as they must be."""
        self.path = path
        self._file = file
        self._names = set(file.keys())
        metadata: Mapping[str, str] = file.metadata() or {}
        self.header = Header.read(metadata, path)
        self._digest = metadata.get(DIGEST)
        self.prefixes = tuple(
            self._ids(f"tokens.{number}") for number in range(sum(name.startswith("tokens.") for name in self._names))
        )
        self._shared = shared_lengths(self.prefixes)

    @classmethod
    def open(cls, path: Path) -> "Snapshot":
        """Opens the file at `path` and reads its header. Raises `SnapshotFault` with the reason."""
        if not os.path.isfile(path):  # reading a pipe would never end
            what = "is no file" if os.path.exists(path) else "does not exist"
            raise SnapshotFault(f"{path} {what}.", "Give a file that `flare-local warm` wrote.")
        try:
            return cls(path, safe_open(path, framework="pt"))
        except (SafetensorError, OSError) as error:
            raise SnapshotFault(f"{path} cannot be read: {' '.join(str(error).split())}.", AGAIN) from None

    def check(self, own: Header, vocabulary: int, pool: KVPool) -> None:
        """Raises `SnapshotFault` where the file was not written for this very model, or is not whole. Reads it all."""
        self.header.check(own, self.path)
        shapes = {
            name: shape
            for number, shared in enumerate(self._shared)
            for name, shape in tensor_shapes(number, len(self.prefixes[number]), shared, pool)
        }
        if set(shapes) != self._names or any(self._shape(name) != shape for name, shape in shapes.items()):
            raise self._broken("its tensors are not those that its header speaks of")
        for ids in self.prefixes:
            if not all(0 <= token < vocabulary for token in ids):
                raise self._broken(f"it names tokens that the model does not have (0 to {vocabulary - 1})")
            if len(ids) >= own.context:
                raise self._broken(f"a prefix of {len(ids)} tokens leaves no room in a context of {own.context}")
        if digest(self.header, ((name, self._tensor(name)) for name in sorted(shapes))) != self._digest:
            raise self._broken("its content is not what was written")
        for name in shapes:
            if not is_finite(self._tensor(name)):
                raise self._broken("it holds keys or values that are no numbers")

    def copy(self, number: int, begin: int, runs: Sequence[Run], pool: KVPool) -> None:
        """Copies K and V of prefix `number` from token `begin` to its end into the slots `runs`."""
        skip = begin - self._shared[number]
        slots = torch.tensor(slot_ids(runs))
        for layer, (keys, values) in enumerate(zip(pool.keys, pool.values, strict=True)):
            for kind, buffer in (("keys", keys), ("values", values)):
                stored = self._tensor(f"{kind}.{number}.{layer}")[:, skip:]
                buffer.index_copy_(1, slots.to(buffer.device), stored.to(buffer.device))

    def _ids(self, name: str) -> Ids:
        if name not in self._names:
            raise self._broken(f"it has no {name}")
        tensor = self._tensor(name)
        if tensor.dtype != torch.int64 or tensor.dim() != 1 or not len(tensor):
            raise self._broken(f"{name} are no token ids")
        return tuple(tensor.tolist())

    def _shape(self, name: str) -> tuple[str, list[int]]:
        tensor = self._tensor(name)
        return str(tensor.dtype), list(tensor.shape)

    def _tensor(self, name: str) -> torch.Tensor:
        """A view of the mapped file, no copy."""
        try:
            tensor: torch.Tensor = self._file.get_tensor(name)
        except (SafetensorError, AttributeError, KeyError):  # a dtype that safetensors or torch does not know
            raise self._broken(f"{name} cannot be read") from None
        return tensor

    def _broken(self, why: str) -> SnapshotFault:
        return SnapshotFault(f"{self.path} is broken: {why}.", AGAIN)


def distinct(prefixes: Iterable[Ids]) -> tuple[Ids, ...]:
    """`prefixes` without empty ones and without those that another begins with."""
    longest: list[Ids] = []
    for ids in prefixes:
        if ids and not any(other[: len(ids)] == ids for other in longest):
            longest = [*(other for other in longest if ids[: len(other)] != other), ids]
    return tuple(longest)


def shared_lengths(prefixes: Sequence[Ids]) -> list[int]:
    """Of each prefix, how many of its first tokens an earlier one begins with too."""
    return [
        max((_common(ids, earlier) for earlier in prefixes[:number]), default=0) for number, ids in enumerate(prefixes)
    ]


def tensor_shapes(number: int, length: int, shared: int, pool: KVPool) -> Iterator[tuple[str, tuple[str, list[int]]]]:
    """Name, dtype and shape of each tensor that a snapshot for `pool` holds of one prefix."""
    yield f"tokens.{number}", (str(torch.int64), [length])
    for at, layer in enumerate(pool.layers):
        yield f"keys.{number}.{at}", (str(layer.dtype), [layer.heads, length - shared, layer.key_dim])
        yield f"values.{number}.{at}", (str(layer.dtype), [layer.heads, length - shared, layer.value_dim])


def digest(header: Header, tensors: Iterable[tuple[str, torch.Tensor]]) -> str:
    """Hexadecimal sha256 of the header and of each tensor: name, dtype, shape, bytes. About a second a GB."""
    sha = hashlib.sha256(json.dumps(header.as_metadata(), sort_keys=True).encode())
    for name, tensor in tensors:
        sha.update(f"{name} {tensor.dtype} {list(tensor.shape)}\n".encode())
        sha.update(tensor.contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return sha.hexdigest()


def is_finite(tensor: torch.Tensor) -> bool:
    """Whether all of it are numbers."""
    return bool(torch.isfinite(tensor).all())


def _common(ids: Ids, others: Ids) -> int:
    """How many ids both begin with."""
    most = min(len(ids), len(others))
    return next((at for at in range(most) if ids[at] != others[at]), most)
