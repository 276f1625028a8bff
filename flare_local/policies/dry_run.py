"""A dry run: a policy with a model that says nothing, which shows the prompt the policy would send."""

from dataclasses import dataclass
from typing import Protocol

from flare_local.engine.call import Call, Generation, StopReason
from flare_local.engine.counters import Counters

NOTHING = Generation((), (), (), "", StopReason.EOS, None, Counters())


class Codec(Protocol):
    """The part of a model that knows its tokenizer (`flare_local.engine.text.TextCodec`)."""

    bos: tuple[int, ...]

    def encode(self, text: str, /) -> tuple[int, ...]: ...

    def decode(self, ids: tuple[int, ...], /) -> str: ...

    def ids_beginning(self, text: str, /) -> tuple[int, ...]: ...

    def last_tokens(self, text: str, count: int) -> str: ...


@dataclass
class SilentModel:
    """A `LanguageModel` without weights: every answer ends at once, so the first call's prompt is in the trace."""

    codec: Codec
    bos: tuple[int, ...]
    tail: tuple[int, ...]
    context_length: int

    def encode(self, text: str) -> tuple[int, ...]:
        return self.codec.encode(text)

    def decode(self, ids: tuple[int, ...]) -> str:
        return self.codec.decode(ids)

    def ids_beginning(self, text: str) -> tuple[int, ...]:
        return self.codec.ids_beginning(text)

    def last_tokens(self, text: str, count: int) -> str:
        return self.codec.last_tokens(text, count)

    async def generate(self, call: Call) -> Generation:
        """Nothing, and the end."""
        return NOTHING
