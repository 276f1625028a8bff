"""A model that never ends its answer, so that answers are exactly as long as the rules say."""

from dataclasses import replace

from benchmarks.around import Around
from flare_local.engine.call import Call, Generation, LanguageModel


class Endless(Around[LanguageModel]):
    """A `LanguageModel` that chooses no EOS and knows no stop strings. What it then writes is nonsense, but as much
    work as sense would be.
    """

    async def generate(self, call: Call) -> Generation:
        return await self.model.generate(replace(call, stop=(), banned=call.banned | self.eos_ids))
