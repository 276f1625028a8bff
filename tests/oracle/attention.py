"""Plain dense attention that keeps the dtype of its inputs: fp64 stays fp64, with softcap and sinks."""

from typing import Any

import torch

NAME = "oracle_dense"


def dense_attention(
    module: Any,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor,
    scaling: float | None = None,
    dropout: float = 0.0,
    softcap: float | None = None,
    s_aux: torch.Tensor | None = None,
    **_: Any,
) -> tuple[torch.Tensor, None]:
    """query [b, h, q, d], key and value [b, kv, k, d]; the mask [b, 1, q, k] is boolean, True where a key is seen."""
    groups = query.shape[1] // key.shape[1]
    key = key.repeat_interleave(groups, dim=1)
    value = value.repeat_interleave(groups, dim=1)
    scores = query @ key.transpose(-1, -2) * (query.shape[-1] ** -0.5 if scaling is None else scaling)
    if softcap is not None:
        scores = torch.tanh(scores / softcap) * softcap
    assert attention_mask.dtype == torch.bool
    scores = scores.masked_fill(~attention_mask, float("-inf"))
    if s_aux is not None:
        sink = s_aux.to(scores.dtype).reshape(1, -1, 1, 1).expand(*scores.shape[:3], 1)
        scores = torch.cat([scores, sink], dim=-1)
    weights = torch.softmax(scores, dim=-1)[..., : key.shape[-2]]
    return (weights @ value).transpose(1, 2).contiguous(), None


def install(model: Any) -> None:
    """Makes `model` run this attention, with a boolean mask for every token (windows and chunks included)."""
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.masking_utils import sdpa_mask

    def whole_mask(*args: Any, **kwargs: Any) -> Any:
        return sdpa_mask(*args, **{**kwargs, "allow_is_causal_skip": False, "allow_is_bidirectional_skip": False})

    AttentionInterface.register(NAME, dense_attention)
    AttentionMaskInterface.register(NAME, whole_mask)
    model.set_attn_implementation(NAME)
