"""The peer: the same policy over Hugging Face `generate`, afresh for every call, as the ports of FLARE do it.

No cache between calls, always the whole look-ahead, cut afterwards. What `generate` does inside one call (its own KV
cache) stays as it is.
"""

from time import perf_counter
from typing import Any

import torch

from flare_local.engine.call import Call, Generation
from flare_local.engine.counters import Counters
from flare_local.engine.output import Output
from flare_local.engine.scores import is_plain
from flare_local.engine.text import TextCodec


class HuggingFace:
    """A `LanguageModel` over an unmodified Transformers model."""

    def __init__(self, model: Any, codec: TextCodec, eos_ids: frozenset[int], context_length: int) -> None:
        self.model = model
        self.codec = codec
        self.eos_ids = eos_ids
        self.context_length = context_length
        self.bos = codec.bos
        self.tail: tuple[int, ...] = ()

    async def generate(self, call: Call) -> Generation:
        """Greedy only; a draft is of no use here."""
        assert is_plain(call)
        began = perf_counter()
        ids = torch.tensor([call.prompt])
        out = self.model.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            max_new_tokens=call.max_new_tokens,
            do_sample=False,
            temperature=None,
            top_p=None,
            top_k=None,
            eos_token_id=sorted(self.eos_ids),
            pad_token_id=min(self.eos_ids),
            stop_strings=[*call.stop, *call.marks] or None,
            tokenizer=self.codec.tokenizer if call.stop or call.marks else None,
            output_logits=True,
            return_dict_in_generate=True,
        )
        new = out.sequences[0, len(call.prompt) :].tolist()
        output = Output(call, self.codec, self.eos_ids)
        for token, logits in zip(new, out.logits, strict=True):
            if not output.done:
                output.push(token, float(logits[0].float().softmax(-1)[token]))
        spent = (perf_counter() - began) * 1000
        counters = Counters(
            calls=1, forwards=len(new), prompt_tokens=len(call.prompt), run=len(call.prompt) + len(new) - 1
        )
        counters.total_ms = spent
        assert output.done
        return output.generation(counters)
