"""What a `LanguageModel` around another one leaves as it is."""

from typing import Generic, TypeVar

from flare_local.engine.call import Codec, LanguageModel

Inner = TypeVar("Inner", bound=LanguageModel)


class Around(Generic[Inner]):
    """Everything but `generate`, of which subclasses make what they are for."""

    def __init__(self, model: Inner, eos_ids: frozenset[int]) -> None:
        """`model`: of one question. `eos_ids`: of that model."""
        self.model = model
        self.eos_ids = eos_ids

    @property
    def codec(self) -> Codec:
        return self.model.codec

    @property
    def bos(self) -> tuple[int, ...]:
        return self.model.bos

    @property
    def tail(self) -> tuple[int, ...]:
        return self.model.tail

    @property
    def context_length(self) -> int:
        return self.model.context_length
