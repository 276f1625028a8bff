"""One packed forward: the new tokens of several sequences in one row, through the unmodified model."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from transformers import AttentionInterface

from flare_local.engine import attention
from flare_local.engine.kernels import Kernels, uses_triton
from flare_local.engine.plan import Plan, Stretch
from flare_local.engine.pool import KVPool, LayerShape
from flare_local.engine.scores import Reader, read_plainly
from flare_local.errors import ModelRefused
from flare_local.spans import Kind, span

if TYPE_CHECKING:
    from flare_local.engine.padded_forward import PaddedForward

AttentionInterface.register(attention.NAME, attention.attend)


class PackedForward:
    """Runs stretches of tokens. The model's weights and code stay as they are; only its attention function is ours."""

    def __init__(self, module: Any, device: torch.device, kernels: Kernels = "torch") -> None:
        """Switches `module` (a Transformers causal LM) to our attention; `device` takes the token ids. Which kernels
        run is settled by the probe, which sees where the layers are."""
        self._module = module
        self._device = device
        self._kernels = kernels
        self._triton = False
        self._padded: PaddedForward | None = None  # made for the first pool, the only one that Triton's kernels get
        module.set_attn_implementation(attention.NAME)

    def probe(self) -> list[LayerShape]:
        """Runs two tokens without a pool to see what each layer stores. Raises `ModelRefused` where layers are odd,
        and `UsageError` where the kernels that were asked for cannot run them."""
        context = self._context([Stretch(tokens=[0, 1], context=[], slots=[], read=[1])], None)
        self._run([Stretch(tokens=[0, 1], context=[], slots=[], read=[1])], context)
        if sorted(context.seen) != list(range(len(context.seen))) or not context.seen:
            raise ModelRefused(
                f"{type(self._module).__name__} reaches attention in layers {sorted(context.seen)} only.",
                "Layers without attention, or that share K and V, cannot run on this engine.",
            )
        layers = [context.seen[layer] for layer in range(len(context.seen))]
        self._triton = uses_triton(self._kernels, layers)
        return layers

    @property
    def read(self) -> Reader:
        """Reads choices and probabilities off logits."""
        if not self._triton:
            return read_plainly
        from flare_kernels.score_tokens import score_tokens

        return score_tokens

    def __call__(self, stretches: Sequence[Stretch], pool: KVPool) -> torch.Tensor:
        """Logits `[number of reads, vocabulary]` in the model's dtype, in the order of stretches and reads.

        Writes K and V of all tokens into their slots.
        """
        if not self._triton:
            return self._run(stretches, self._context(stretches, pool))
        if self._padded is None:
            from flare_local.engine.padded_forward import PaddedForward

            self._padded = PaddedForward(self._module, self._device, pool)
        return self._padded(stretches)

    def _context(self, stretches: Sequence[Stretch], pool: KVPool | None) -> attention.Context:
        with span(Kind.PLAN, "slots"):
            return attention.Context(pool, {self._device: Plan(stretches, self._device)}, {})

    def _run(self, stretches: Sequence[Stretch], context: attention.Context) -> torch.Tensor:
        tokens: list[int] = []
        positions: list[int] = []
        reads: list[int] = []
        for stretch in stretches:
            reads += [len(tokens) + offset for offset in stretch.read]
            positions += range(stretch.position, stretch.position + len(stretch.tokens))
            tokens += stretch.tokens
        with torch.inference_mode(), attention.serving(context):
            output = self._module(
                input_ids=torch.tensor([tokens], device=self._device),
                position_ids=torch.tensor([positions], device=self._device),
                use_cache=False,
                logits_to_keep=torch.tensor(reads, dtype=torch.long, device=self._device),
            )
        logits: torch.Tensor = output.logits[0]
        return logits
