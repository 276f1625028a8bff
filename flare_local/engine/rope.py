"""How long a context a model can hold here, and rotary embeddings whose frequencies change with the length.

Keys in the pool were rotated once. An embedding that picks other frequencies for a longer sequence would leave them
stale, and in a packed row one sequence's length would change another's; so the choice is made once, at load.
"""

from collections.abc import Iterator
from typing import Any

from flare_local.errors import ModelError

LENGTH_FIELDS = ("max_position_embeddings", "n_positions", "n_ctx", "max_sequence_length", "max_seq_len", "seq_length")
UNKNOWN_LENGTH = 2048  # tokens, where neither config nor tokenizer tells; the shortest that current models have


def context_length(config: Any, asked: int | None, tokenizer_length: int) -> int:
    """Tokens of prompt and output together, from the config, cut to `asked` where the user asks for less.

    `dynamic` rotary embeddings are served up to their original length. `longrope` ones too, unless the user asks for
    more; then the long factors are used for every length. Raises `ModelError` if `asked` is more than the model holds.
    """
    text = config.get_text_config()
    lengths = (getattr(text, field, None) for field in LENGTH_FIELDS)
    limit = next((int(length) for length in lengths if length), 0)
    if not limit:
        limit = tokenizer_length if 0 < tokenizer_length < 1_000_000 else UNKNOWN_LENGTH
    if asked is not None and not 0 < asked <= limit:
        raise ModelError(
            f"A context of {asked} tokens was asked for; the model holds 1 to {limit}.", "Ask for less with --context."
        )
    original = min([*original_lengths(text, "longrope"), *original_lengths(text, "dynamic")], default=limit)
    return asked or min(limit, original)


def fix_frequencies(module: Any, context: int) -> None:
    """Makes every `longrope` embedding of `module` use one set of frequencies, chosen by `context`, for good."""
    import torch

    text = module.config.get_text_config()
    original = min(original_lengths(text, "longrope"), default=None)
    if original is None:
        return
    for rotary in module.modules():
        kinds = getattr(rotary, "rope_type", None)
        if kinds == "longrope":
            layer_types: list[dict[str, str]] = [{}]
        elif isinstance(kinds, dict) and "longrope" in kinds.values():
            layer_types = [{"layer_type": layer} for layer, kind in kinds.items() if kind == "longrope"]
        else:
            continue
        device = next(iter(rotary.buffers())).device
        last = torch.tensor([[max(context, original + 1) - 1 if context > original else 0]], device=device)
        for layer_type in layer_types:
            rotary(torch.zeros(1, 1, 1, device=device), last, **layer_type)  # its own rule picks the frequencies
        rotary.rope_type = (
            "default"
            if kinds == "longrope"
            else {layer: "default" if kind == "longrope" else kind for layer, kind in kinds.items()}
        )


def original_lengths(text_config: Any, kind: str) -> Iterator[int]:
    """For each rotary embedding of type `kind`: up to which length its frequencies are those of the training."""
    for parameters in _rope_kinds(text_config):
        if parameters.get("rope_type", parameters.get("type")) == kind:
            original = parameters.get("original_max_position_embeddings") or getattr(
                text_config, "original_max_position_embeddings", None
            )
            yield int(original or text_config.max_position_embeddings)


def _rope_kinds(text_config: Any) -> Iterator[dict[str, Any]]:
    """The rotary parameters of a text config: one dictionary, or one for each type of layer."""
    parameters = getattr(text_config, "rope_parameters", None) or getattr(text_config, "rope_scaling", None) or {}
    if not isinstance(parameters, dict):
        return
    nested = [value for value in parameters.values() if isinstance(value, dict)]
    yield from nested or [parameters]
