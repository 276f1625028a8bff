"""How an engine is asked for."""

from types import SimpleNamespace

EngineArgs = SimpleNamespace
