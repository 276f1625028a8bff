"""FLARE as a local engine with KV-cache reuse. This file is the table of contents; names load when first used."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flare_local.engine.engine import Engine

__version__ = "0.1.0"

_HOME = {
    "Engine": "flare_local.engine.engine",
}

__all__ = ["Engine", "__version__"]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
