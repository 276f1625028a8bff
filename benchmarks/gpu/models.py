"""Models with random weights: small ones of several kinds to compare, and real shapes to measure."""

from functools import lru_cache
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM

from flare_local.engine.model import LoadedModel
from flare_local.engine.text import TextCodec

SIZES = {
    "vocab_size": 500,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "max_position_embeddings": 8192,
    "initializer_range": 0.3,
    "pad_token_id": None,
}
_WINDOWS = {"sliding_window": 12, "layer_types": ["sliding_attention", "full_attention"]}

# Kinds of attention: plain, per-head norms, soft caps with windows, sinks with windows.
SMALL: dict[str, dict[str, Any]] = {
    "llama": {},
    "qwen3": {},
    "gemma2": {**_WINDOWS, "query_pre_attn_scalar": 16, "attn_logit_softcapping": 5.0},
    "gpt_oss": {**_WINDOWS, "num_local_experts": 4, "num_experts_per_tok": 2},
}


def _shape(
    hidden: int, layers: int, heads: int, kv_heads: int, inner: int, vocabulary: int, tied: bool
) -> dict[str, Any]:
    return {
        "hidden_size": hidden,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        "intermediate_size": inner,
        "vocab_size": vocabulary,
        "tie_word_embeddings": tied,
        "max_position_embeddings": 32768,
    }


# Sizes of released models, read off their configs.
REAL: dict[str, tuple[str, dict[str, Any]]] = {
    "0.5B (qwen2.5)": ("qwen2", _shape(896, 24, 14, 2, 4864, 151936, True)),
    "1.5B (qwen2.5)": ("qwen2", _shape(1536, 28, 12, 2, 8960, 151936, True)),
    "8B (llama-3.1)": ("llama", _shape(4096, 32, 32, 8, 14336, 128256, False)),
}
REHEARSED = {"tiny": ("llama", {**SIZES, "vocab_size": 300})}


class IdText(TextCodec):
    """Speaks in numbers: these models have no tokenizer."""

    def __init__(self) -> None:
        self.bos = ()
        self.decode = lru_cache(maxsize=8192)(lambda ids: "".join(f" w{token}" for token in ids))


def make(kind: str, options: dict[str, Any], dtype: torch.dtype, device: torch.device) -> LoadedModel:
    """A model of Transformers' class for `kind`, made on the device."""
    torch.manual_seed(0)
    config = AutoConfig.for_model(kind, **{"pad_token_id": None, **options})
    with device:
        module = AutoModelForCausalLM.from_config(config, dtype=dtype)
    module = module.to(device=device, dtype=dtype).eval().requires_grad_(False)
    if hasattr(module, "set_experts_implementation"):
        module.set_experts_implementation("eager")
    return LoadedModel(
        module=module,
        codec=IdText(),
        name=kind,
        fingerprint="",
        dtype=dtype,
        device=device,
        context_length=8192,
        eos_ids=frozenset(),
        vocab_size=config.vocab_size,
    )


def weight_bytes(model: LoadedModel) -> int:
    """Bytes of weights that every forward reads: all but an untied embedding, of which it reads a few rows."""
    module = model.module
    whole = sum(weights.numel() * weights.element_size() for weights in module.parameters())
    untied = module.get_input_embeddings().weight is not module.get_output_embeddings().weight
    embedding = module.get_input_embeddings().weight
    return int(whole - untied * embedding.numel() * embedding.element_size())
