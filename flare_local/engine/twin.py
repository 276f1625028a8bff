"""A shrunken twin of a model: its config with few, narrow layers and a short window, random weights, float64.

A few tokens never leave a real model's window of thousands; the twin's they do.
"""

from contextlib import suppress
from copy import deepcopy
from typing import Any

import torch

WINDOW = 8  # tokens
HEAD_DIM = 32
WIDTH = 128  # of the layers between
VOCABULARY = 256
LARGEST = 40_000_000  # weights; 320 MB in float64. A twin that shrinks no further than this is left out

# The names under which configs keep the same thing, with the twin's value or its upper bound.
_BOUNDS = {
    "intermediate_size": WIDTH,
    "n_inner": WIDTH,
    "ffn_dim": WIDTH,
    "moe_intermediate_size": WIDTH,
    "shared_expert_intermediate_size": WIDTH,
    "shared_intermediate_size": WIDTH,
    "num_experts": 4,
    "num_local_experts": 4,
    "n_routed_experts": 4,
    "num_experts_per_tok": 2,
    "n_group": 1,
    "topk_group": 1,
    "sliding_window": WINDOW,
    "rotary_dim": HEAD_DIM // 2,
    "vocab_size": VOCABULARY,
}
_HIDDEN = ("hidden_size", "n_embd", "word_embed_proj_dim")
_LAYERS = ("num_hidden_layers", "n_layer")
_HEADS = ("num_attention_heads", "n_head")
_TOKEN_IDS = ("bos_token_id", "eos_token_id", "pad_token_id")


def make_twin(module: Any) -> Any | None:
    """A small random model of the same class in float64 on the CPU, or None where the config cannot be shrunken."""
    config = deepcopy(module.config.get_text_config())
    same = type(config) is type(module.config)
    model_class = type(module) if same else _class_of(config)
    if model_class is None:
        return None
    try:
        _shrink(config)
        with torch.device("meta"):
            size = sum(parameter.numel() for parameter in model_class(deepcopy(config)).parameters())
        if size > LARGEST:
            return None
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            twin = model_class._from_config(config, dtype=torch.float64)
            _randomise(twin)
        if hasattr(twin, "set_experts_implementation"):
            with suppress(ValueError):
                twin.set_experts_implementation("eager")
        twin.eval().requires_grad_(False)(input_ids=torch.arange(WINDOW)[None], use_cache=False)
    except Exception:  # a config class may refuse any combination of sizes; the model itself is checked in any case
        return None
    return twin


def _class_of(config: Any) -> Any | None:
    from transformers import AutoModelForCausalLM

    return AutoModelForCausalLM._model_mapping.get(type(config), None)


def _shrink(config: Any) -> None:
    """Edits `config`: one layer of each kind and at least two, few heads (grouped as they were), narrow layers."""
    layers = int(config.num_hidden_layers)
    kinds = list(getattr(config, "layer_types", None) or [])
    kept = sorted({kinds.index(kind) for kind in kinds}) or [0]
    kept += [layer for layer in range(layers) if layer not in kept][: max(0, 2 - len(kept))]
    for key, value in list(vars(config).items()):
        if isinstance(value, list) and len(value) == layers and key not in {"mlp_only_layers"}:
            setattr(config, key, [value[layer] for layer in sorted(kept)])
    heads = int(config.num_attention_heads)
    groups = int(getattr(config, "num_key_value_heads", None) or heads)
    key_heads, group = min(groups, 2), min(heads // groups, 4)
    values = {name: min(bound, getattr(config, name, None) or bound) for name, bound in _BOUNDS.items()}
    values |= dict.fromkeys(_HIDDEN, key_heads * group * HEAD_DIM)
    values |= dict.fromkeys(_LAYERS, len(kept))
    values |= dict.fromkeys(_HEADS, key_heads * group)
    # In latent attention (DeepSeek) head_dim is the width of the rotated part, which stays.
    head_dim = getattr(config, "qk_rope_head_dim", None) or HEAD_DIM
    values |= {"head_dim": head_dim, "num_key_value_heads": key_heads}
    for name, value in values.items():
        if getattr(config, name, None) is not None:
            setattr(config, name, value)
    for name in _TOKEN_IDS:
        if getattr(config, name, None) is not None:
            setattr(config, name, 0)
    rope = getattr(config, "rope_parameters", None)
    if isinstance(rope, dict) and rope.get("rope_type") == "longrope":  # its factors belong to the real head width
        config.rope_parameters = {"rope_type": "default", "rope_theta": rope.get("rope_theta", 10_000.0)}


def _randomise(twin: Any) -> None:
    """Weights large enough that attention is not flat; biases and sinks that are zero at first too."""
    with torch.no_grad():
        for name, weights in twin.named_parameters():
            if weights.ndim >= 2:
                weights.normal_(0, 1.5 * weights.shape[-1] ** -0.5)
            elif name.endswith(("bias", "sinks")):
                weights.normal_(0, 0.3)
