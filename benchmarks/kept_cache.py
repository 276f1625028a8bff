"""The peer that a careful user writes with Transformers alone: `DynamicCache`s kept from call to call, an early stop.

Two caches, because FLARE's drafts and its sentences with documents share only the exemplars' prefix: a call crops the
one whose tokens agree with its prompt for longest. Token by token, greedy, stopping where the engine stops.
"""

from inspect import signature
from typing import Any

import torch
from transformers import DynamicCache

from benchmarks.hugging_face import Plain
from benchmarks.peer import Peer
from flare_local.engine.call import Call
from flare_local.engine.counters import Counters
from flare_local.engine.output import Output


class Buffer:
    """One cache and the tokens whose K and V it holds."""

    def __init__(self) -> None:
        self.cache = DynamicCache()  # without a config: full layers, which can be cropped for every model
        self.ids: list[int] = []
        self.prompt_length = 0  # of the call that it served last

    def common(self, prompt: tuple[int, ...]) -> int:
        """How many tokens of `prompt` it holds."""
        pairs = zip(self.ids, prompt, strict=False)
        return next((at for at, (mine, asked) in enumerate(pairs) if mine != asked), min(len(self.ids), len(prompt)))

    def crop(self, length: int) -> None:
        """Keeps the first `length` tokens."""
        if length < len(self.ids):
            self.cache.crop(length - len(self.ids))  # negative: so many are taken away
            del self.ids[length:]

    def copy_of(self, other: "Buffer", length: int) -> None:
        """Holds the first `length` tokens of `other`, which stays as it is."""
        self.cache = DynamicCache()
        for number, layer in enumerate(other.cache.layers):
            self.cache.update(layer.keys[:, :, :length], layer.values[:, :, :length], number)
        self.ids = other.ids[:length]


class KeptCache(Peer):
    """Owns two buffers, the most recently used last."""

    def __init__(self, name: str, plain: Plain) -> None:
        super().__init__(name, plain.of.codec, plain.of.eos_ids, plain.of.context_length)
        self.plain = plain
        named = signature(plain.model.forward).parameters
        self.keyword = "cache" if "cache" in named else "past_key_values"  # the older name
        self.reset()

    def reset(self) -> None:
        self.buffers = [Buffer(), Buffer()]

    @torch.inference_mode()
    def write(self, call: Call, output: Output, counters: Counters) -> None:
        buffer = self._buffer_for(call.prompt)
        counters.reused = len(buffer.ids)
        token, probability = self._forward(buffer, list(call.prompt[len(buffer.ids) :]))
        buffer.prompt_length = len(call.prompt)
        output.push(token, probability)
        while not output.done:
            token, probability = self._forward(buffer, [token])
            output.push(token, probability)
        self.plain.take_counts(counters)

    def _buffer_for(self, prompt: tuple[int, ...]) -> Buffer:
        """The buffer to go on from, cropped to what it shares with `prompt`, at least the last token left to run.

        A prompt that goes on from a buffer's last prompt takes that buffer. Any other takes the one that was not used
        for longer, and copies into it what the other one has and it has not.
        """
        oldest, newest = self.buffers
        best = max(self.buffers, key=lambda buffer: buffer.common(prompt))
        shared = best.common(prompt)
        target = best if 0 < min(best.prompt_length, len(prompt)) <= shared else oldest
        kept = min(shared, len(prompt) - 1)
        if target is not best and target.common(prompt) < shared:
            target.copy_of(best, kept)
        target.crop(kept)
        self.buffers = [newest, oldest] if target is oldest else [oldest, newest]
        return target

    def _forward(self, buffer: Buffer, new: list[int]) -> tuple[int, float]:
        """Runs `new` behind the buffer's tokens: the next token, lowest id at ties, and its probability in fp32."""
        ids: Any = torch.tensor([new])
        kept: Any = {self.keyword: buffer.cache}
        logits = self.plain.model(input_ids=ids, use_cache=True, logits_to_keep=1, **kept).logits
        buffer.ids += new
        row = logits[0, -1].float()
        token = int(row.argmax())
        return token, float((row[token] - row.logsumexp(-1)).exp())
