"""What every peer is: a `LanguageModel` that the same policy code drives, greedy, with probabilities in fp32."""

from abc import ABC, abstractmethod
from time import perf_counter

from flare_local.engine.call import Call, Generation, LanguageModel
from flare_local.engine.counters import Counters
from flare_local.engine.output import Output
from flare_local.engine.scores import is_plain
from flare_local.engine.text import TextCodec


class Peer(ABC):
    """One way to answer a call. Where the output ends and what of it is kept is always decided by `Output`."""

    def __init__(self, name: str, codec: TextCodec, eos_ids: frozenset[int], context_length: int) -> None:
        """`name`: the row of the table."""
        self.name = name
        self.codec = codec
        self.eos_ids = eos_ids
        self.context_length = context_length
        self.bos = codec.bos
        self.tail: tuple[int, ...] = ()

    async def generate(self, call: Call) -> Generation:
        """Greedy only; a draft to speculate with is of no use to a peer."""
        assert is_plain(call)
        began = perf_counter()
        counters = Counters(calls=1, prompt_tokens=len(call.prompt))
        output = Output(call, self.codec, self.eos_ids)
        self.write(call, output, counters)
        assert output.done
        counters.total_ms = (perf_counter() - began) * 1000
        return output.generation(counters)

    @abstractmethod
    def write(self, call: Call, output: Output, counters: Counters) -> None:
        """Pushes the call's tokens until `output` is done, and counts forwards and tokens run."""

    def lm(self, question: str) -> LanguageModel:
        """What answers the question with this id."""
        return self

    def reset(self) -> None:  # noqa: B027 - many keep nothing
        """Forgets everything that was kept between calls."""

    def close(self) -> None:  # noqa: B027
        """Frees what the peer holds."""
