"""The peers over Hugging Face `generate`, afresh for every call, as the ports of FLARE do it.

No cache between calls, always the whole look-ahead, cut afterwards. What `generate` does inside one call (its own KV
cache, prompt lookup if asked for) stays as it is.
"""

from dataclasses import dataclass, field
from typing import Any

import torch
from transformers import AutoModelForCausalLM

from benchmarks.peer import Peer
from flare_local.engine.call import Call
from flare_local.engine.counters import Counters
from flare_local.engine.model import LoadedModel
from flare_local.engine.output import Output
from flare_local.engine.quiet import quiet_transformers

# Tokens proposed at once; the value of Transformers' own documentation of prompt lookup.
LOOKUP_TOKENS = 10


@dataclass
class Plain:
    """An unmodified Transformers model. Counts the forwards it makes and the tokens that they run."""

    model: Any
    of: LoadedModel  # the same model as the engine has it: tokenizer, EOS, context
    forwards: int = field(default=0, init=False)
    run: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.model.register_forward_pre_hook(self._count, with_kwargs=True)

    def _count(self, _: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.forwards += 1
        self.run += (kwargs["input_ids"] if "input_ids" in kwargs else args[0]).numel()

    def take_counts(self, counters: Counters) -> None:
        """Moves what was counted since the last time into `counters`."""
        counters.forwards, counters.run = self.forwards, self.run
        self.forwards = self.run = 0


def plain_model(name: str, dtype: str) -> Any:
    """The model called `name` as Transformers loads it, with its SDPA attention."""
    with quiet_transformers():
        return AutoModelForCausalLM.from_pretrained(
            name, dtype=getattr(torch, dtype), attn_implementation="sdpa"
        ).eval()


class HuggingFace(Peer):
    """`generate` once a call, from the first token of the prompt."""

    def __init__(self, name: str, plain: Plain, lookup: bool = False) -> None:
        """`lookup`: with Transformers' prompt lookup decoding."""
        super().__init__(name, plain.of.codec, plain.of.eos_ids, plain.of.context_length)
        self.plain = plain
        self.options = {"prompt_lookup_num_tokens": LOOKUP_TOKENS} if lookup else {}

    def write(self, call: Call, output: Output, counters: Counters) -> None:
        ids = torch.tensor([call.prompt])
        out = self.plain.model.generate(
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
            **self.options,
        )
        new = out.sequences[0, len(call.prompt) :].tolist()
        for token, logits in zip(new, out.logits, strict=not self.options):
            if not output.done:
                output.push(token, float(logits[0].float().softmax(-1)[token]))
        self.plain.take_counts(counters)
