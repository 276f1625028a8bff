"""A dry run: a policy with a model that says nothing, which shows the prompt the policy would send."""

from dataclasses import dataclass

from flare_local.engine.call import Call, Codec, Generation, StopReason
from flare_local.engine.counters import Counters

NOTHING = Generation((), (), (), "", StopReason.EOS, None, Counters())


@dataclass
class SilentModel:
    """A `LanguageModel` without weights: every answer ends at once, so the first call's prompt is in the trace."""

    codec: Codec
    bos: tuple[int, ...]
    tail: tuple[int, ...]
    context_length: int

    async def generate(self, call: Call) -> Generation:
        """Nothing, and the end."""
        return NOTHING
