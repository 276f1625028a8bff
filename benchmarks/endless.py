"""A model that never ends its answer, so that answers are exactly as long as the rules say."""

from dataclasses import replace

from flare_local.engine.call import Call, Codec, Generation, LanguageModel


class Endless:
    """A `LanguageModel` that chooses no EOS and knows no stop strings. What it then writes is nonsense, but as much
    work as sense would be.
    """

    def __init__(self, model: LanguageModel, eos_ids: frozenset[int]) -> None:
        self._model = model
        self._eos_ids = eos_ids

    @property
    def codec(self) -> Codec:
        return self._model.codec

    @property
    def bos(self) -> tuple[int, ...]:
        return self._model.bos

    @property
    def tail(self) -> tuple[int, ...]:
        return self._model.tail

    @property
    def context_length(self) -> int:
        return self._model.context_length

    async def generate(self, call: Call) -> Generation:
        return await self._model.generate(replace(call, stop=(), banned=call.banned | self._eos_ids))
