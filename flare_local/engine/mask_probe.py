"""Which keys a model wants each token to see, told by the masks it would give to an attention function.

The engine's attention knows two kinds: every token sees all before it, or those in a sliding window whose width comes
with the call. A model that asks its masks for anything else (chunks, later tokens) would be computed wrongly.
"""

from dataclasses import dataclass, field
from typing import Any

import torch
from transformers import AttentionInterface
from transformers.masking_utils import AttentionMaskInterface, sdpa_mask

from flare_local.errors import ModelRefused

NAME = "flare_local_probe"


@dataclass
class _Seen:
    """What one probe forward showed."""

    local_sizes: dict[int, int | None] = field(default_factory=dict)  # by identity of the mask: the width asked for
    masks: list[torch.Tensor] = field(default_factory=list)  # kept alive, so that identities stay apart
    layers: list[int] = field(default_factory=list)
    fault: str = ""
    capped: bool = False  # a soft cap or attention sinks were handed to a layer


_seen = _Seen()


def check_masks(module: Any, device: torch.device, name: str, tokens: int) -> str:
    """Runs `tokens` tokens through `module` with recording masks. Raises `ModelRefused` with what it asked for.

    Returns the name of the Transformers attention that computes all that the layers ask for: "sdpa" (which leaves out
    soft caps and sinks, in some versions silently) or "eager" (whose softmax is fp32 in float64 models too). Leaves
    `module` with the recording attention: the caller sets the next one.
    """
    global _seen
    _seen = _Seen()
    module.set_attn_implementation(NAME)
    ids = torch.arange(tokens, device=device)[None] % module.config.get_text_config().vocab_size
    with torch.inference_mode():
        module(input_ids=ids, position_ids=torch.arange(tokens, device=device)[None], use_cache=False)
    seen, _seen = _seen, _Seen()
    layers = int(module.config.get_text_config().num_hidden_layers)
    fault = seen.fault
    if not fault and sorted(seen.layers) != list(range(layers)):
        fault = (
            f"attention was called for layers {sorted(seen.layers)}, but each of its {layers} layers must call it "
            "once, through Transformers' attention interface"
        )
    if fault:
        raise ModelRefused(f"{name} ({module.config.model_type}) cannot run here: {fault}.", "Use another model.")
    return "eager" if seen.capped else "sdpa"


def _record_mask(*positional: Any, local_size: int | None = None, **options: Any) -> torch.Tensor | None:
    skips = {"allow_is_causal_skip": False, "allow_is_bidirectional_skip": False}
    mask: torch.Tensor | None = sdpa_mask(*positional, local_size=local_size, **{**options, **skips})
    if mask is not None:
        _seen.local_sizes[id(mask)] = local_size
        _seen.masks.append(mask)
    return mask


def _record_attention(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    sliding_window: int | None = None,
    softcap: float | None = None,
    s_aux: torch.Tensor | None = None,
    **_: Any,
) -> tuple[torch.Tensor, None]:
    """Notes what layer `module` was given. The result is zero, in the right shape `[batch, T, heads, value_dim]`."""
    layer = int(getattr(module, "layer_idx", len(_seen.layers)))
    _seen.layers.append(layer)
    _seen.capped = _seen.capped or softcap is not None or s_aux is not None
    count = query.shape[2]
    at = torch.arange(count, device=query.device)
    expected = at[None, :] <= at[:, None]
    if sliding_window is not None:
        expected &= at[None, :] > at[:, None] - sliding_window
    if attention_mask is None:
        if getattr(module, "is_causal", True) is False:
            _seen.fault = _seen.fault or f"layer {layer} is not causal"
    else:
        local = _seen.local_sizes.get(id(attention_mask), sliding_window)
        if local is not None and local != sliding_window:
            _seen.fault = _seen.fault or (
                f"layer {layer} asks for local attention of {local} tokens, but its attention gets "
                f"{'no window' if sliding_window is None else f'a window of {sliding_window}'}"
            )
        wanted = attention_mask[0, 0] if attention_mask.dtype == torch.bool else attention_mask[0, 0] == 0
        if not _seen.fault and not torch.equal(wanted.to(expected.device), expected):
            _seen.fault = f"layer {layer} wants to see other tokens than those before it (or before it in a window)"
    return value.new_zeros(query.shape[0], count, query.shape[1], value.shape[-1]), None


AttentionInterface.register(NAME, _record_attention)
AttentionMaskInterface.register(NAME, _record_mask)
