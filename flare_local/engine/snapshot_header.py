"""What a snapshot says of itself: which model its keys and values come from, and with what they were computed."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

import torch
import transformers

import flare_local
from flare_local.engine.pool import LayerShape
from flare_local.errors import SnapshotFault

if TYPE_CHECKING:
    from flare_local.engine.model import LoadedModel

FORMAT = "flare-local warm 1"  # another number for another layout of the file
AGAIN = "Write it again with `flare-local warm`."


@dataclass(frozen=True)
class Header:
    """All that must be equal before keys and values may be used, causes before their effects."""

    format: str
    flare_local: str  # versions
    torch: str
    transformers: str
    dtype: str  # of the weights
    device: str  # cpu, cuda or mps
    fingerprint: str  # weights, config, tokenizer, dtype, versions
    context: int  # tokens; rotary embeddings may depend on it
    layers: str  # of each layer: heads, width of keys, width of values, dtype

    @classmethod
    def of(cls, model: "LoadedModel", layers: Sequence[LayerShape]) -> "Header":
        """The header of a snapshot written with this model."""
        shapes = [[layer.heads, layer.key_dim, layer.value_dim, _name(layer.dtype)] for layer in layers]
        return cls(
            format=FORMAT,
            flare_local=flare_local.__version__,
            torch=torch.__version__,
            transformers=transformers.__version__,
            dtype=_name(model.dtype),
            device=model.device.type,
            fingerprint=model.fingerprint,
            context=model.context_length,
            layers=json.dumps(shapes),
        )

    @classmethod
    def read(cls, metadata: Mapping[str, str], path: Path) -> "Header":
        """The header of the file at `path`. Raises `SnapshotFault` where it is not one of this program's."""
        if metadata.get("format") != FORMAT:
            other = metadata.get("format", "").startswith("flare-local warm ")
            raise SnapshotFault(
                f"{path} was written in another format than this version reads."
                if other
                else f"{path} is a safetensors file, but no snapshot of `flare-local warm`.",
                AGAIN if other else "Give a file that `flare-local warm` wrote.",
            )
        try:
            values = {field.name: metadata[field.name] for field in fields(cls)}
            return cls(**{**values, "context": int(values["context"])})  # type: ignore[arg-type]
        except (KeyError, ValueError):
            raise SnapshotFault(f"{path} is broken: its header is not whole.", AGAIN) from None

    def as_metadata(self) -> dict[str, str]:
        """As safetensors keeps it."""
        return {name: str(value) for name, value in asdict(self).items()}

    def check(self, own: "Header", path: Path) -> None:
        """Raises `SnapshotFault` with the first difference from `own`, the header of the model that is loaded."""
        for what in ("flare_local", "torch", "transformers"):
            was, is_now = getattr(self, what), getattr(own, what)
            if was != is_now:
                package = what.replace("_", "-")
                raise SnapshotFault(f"{path} was written with {package} {was}; this is {package} {is_now}.", AGAIN)
        if self.dtype != own.dtype:
            raise SnapshotFault(
                f"{path} was written in {self.dtype}; the model runs in {own.dtype}.",
                f"Ask with --dtype {self.dtype}, or write it again.",
            )
        if self.device != own.device:
            raise SnapshotFault(
                f"{path} was computed on {self.device}; the model runs on {own.device}.",
                f"Ask with --device {self.device}, or write it again.",
            )
        if self.fingerprint != own.fingerprint:
            raise SnapshotFault(
                f"{path} was written with another model: weights, config or tokenizer differ.",
                "Name the model that it was written with, or write it again.",
            )
        if self.context != own.context:
            raise SnapshotFault(
                f"{path} was written for a context of {self.context} tokens; the model now has {own.context}.",
                f"Ask with --context {self.context}, or write it again.",
            )
        if self.layers != own.layers:
            raise SnapshotFault(f"{path} holds other layers than the model has.", AGAIN)


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
