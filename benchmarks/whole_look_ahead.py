"""The engine without early stop: every call writes its whole look-ahead, and is cut afterwards."""

from dataclasses import replace

from benchmarks.around import Around
from flare_local.engine.call import Call, Generation, Tokens
from flare_local.engine.engine import Question
from flare_local.engine.output import Output
from flare_local.engine.scores import is_plain


class WholeLookAhead(Around[Question]):
    """A `LanguageModel` that asks for `max_new_tokens` tokens whatever the unit is, as a server that knows no sentences
    is asked. Stop strings and EOS end a call all the same. Keeps what the engine keeps: the same rule cuts.
    """

    async def generate(self, call: Call) -> Generation:
        """Greedy only."""
        assert is_plain(call)
        written: list[tuple[int, float]] = []  # also what a stop string takes away again
        self.model.watch = lambda token, probability: written.append((token, probability))
        whole = await self.model.generate(replace(call, until=Tokens(call.max_new_tokens)))
        if whole.eos_probability is not None:
            written.append((min(self.eos_ids), whole.eos_probability))
        output = Output(call, self.model.codec, self.eos_ids)
        for token, probability in written:
            if not output.done:
                output.push(token, probability)
        assert output.done
        return output.generation(whole.counters)
