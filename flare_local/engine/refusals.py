"""Which models the engine cannot run exactly, told from config and class before anything is computed.

What these rules cannot see, the self-check finds by running the model.
"""

from typing import Any

from flare_local.errors import ModelRefused

SERVED_LAYERS = {"full_attention", "sliding_attention", "attention"}
LAYER_REASONS = {
    "linear_attention": "recurrent or linear layers keep one running state, which cannot be rolled back to a prefix",
    "mamba": "recurrent layers keep one running state, which cannot be rolled back to a prefix",
    "recurrent": "recurrent layers keep one running state, which cannot be rolled back to a prefix",
    "hybrid": "layers that mix attention with a running state cannot be rolled back to a prefix",
    "conv": "convolution layers carry state from token to token, which cannot be rolled back to a prefix",
    "chunked_attention": "attention in chunks depends on where a chunk begins, which the pool does not keep",
}
OTHER_LAYER = "this kind of attention chooses its keys by rules of its own, which the pool does not keep"


def refuse_config(config: Any, name: str) -> None:
    """Raises `ModelRefused` for what a config tells: encoder-decoders, no causal head, layers with other state.

    `config`: of Transformers; `name`: the model as the user calls it.
    """
    from transformers import AutoModelForCausalLM

    kind = config.model_type
    if getattr(config, "is_encoder_decoder", False):
        _refuse(name, kind, "it is an encoder-decoder; FLARE's prompts need a decoder-only model")
    known = AutoModelForCausalLM._model_mapping
    if type(config) in known:
        refuse_class(known[type(config)], name, kind)
    elif "AutoModelForCausalLM" not in (getattr(config, "auto_map", None) or {}):
        _refuse(name, kind, "Transformers has no causal language model for it")
    text = config.get_text_config()
    if getattr(text, "is_causal", True) is False or getattr(text, "use_bidirectional_attention", None):
        _refuse(name, kind, "its attention sees later tokens, so a cached prefix would not stay valid")
    for layer in getattr(text, "layer_types", None) or ():
        if layer not in SERVED_LAYERS:
            reason = next((why for key, why in LAYER_REASONS.items() if key in layer), OTHER_LAYER)
            _refuse(name, kind, f"it has {layer} layers; {reason}")


def refuse_class(model_class: Any, name: str, kind: str) -> None:
    """Raises `ModelRefused` for what a model class tells: its own attention code, or a running state."""
    if getattr(model_class, "_is_stateful", False):
        _refuse(name, kind, LAYER_REASONS["recurrent"])
    if not model_class._can_set_attn_implementation():
        _refuse(name, kind, "its attention does not go through Transformers' attention interface")


def refuse_context(config: Any, name: str, asked: int | None) -> None:
    """Raises `ModelRefused` where `dynamic` rotary embeddings would pass the length up to which they are fixed."""
    from flare_local.engine.rope import original_lengths

    original = min(original_lengths(config.get_text_config(), "dynamic"), default=None)
    if original is not None and asked is not None and asked > original:
        _refuse(
            name,
            config.model_type,
            f"its dynamic rotary embedding changes with the length beyond {original} tokens, which leaves cached keys "
            f"stale, and a context of {asked} was asked for",
            f"Ask for {original} or less.",
        )


def _refuse(name: str, kind: str, reason: str, remedy: str = "Use another model.") -> None:
    raise ModelRefused(f"{name} ({kind}) cannot run here: {reason}.", remedy)
