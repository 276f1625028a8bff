"""A GGUF file of a tiny Llama, written in code."""

from pathlib import Path

import numpy as np
from tokenizers.pre_tokenizers import ByteLevel

WIDTH, HEADS, LAYERS, INNER = 32, 4, 2, 48


def write_tiny_gguf(path: Path, architecture: str = "llama", seed: int = 0) -> Path:
    """Writes fp32 weights, a byte-level vocabulary and the metadata that llama.cpp writes."""
    from gguf import GGUFWriter

    letters = sorted(ByteLevel.alphabet())
    tokens = ["<|end|>", *letters, "Ġt", "he"]
    writer = GGUFWriter(path, architecture)
    writer.add_context_length(128)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_rope_freq_base(10_000.0)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(tokens)
    writer.add_token_types([3] + [1] * (len(tokens) - 1))
    writer.add_token_merges(["Ġ t", "h e"])
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(0)
    rng = np.random.default_rng(seed)
    for name, shape in _shapes(len(tokens)).items():
        weights = np.ones(shape) if "norm" in name else rng.normal(0, 0.3, shape)
        writer.add_tensor(name, weights.astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _shapes(vocabulary: int) -> dict[str, tuple[int, ...]]:
    shapes: dict[str, tuple[int, ...]] = {
        "token_embd.weight": (vocabulary, WIDTH),
        "output.weight": (vocabulary, WIDTH),
        "output_norm.weight": (WIDTH,),
    }
    for layer in range(LAYERS):
        block = f"blk.{layer}."
        shapes |= {f"{block}attn_{part}.weight": (WIDTH, WIDTH) for part in ("q", "k", "v", "output")}
        shapes |= {f"{block}ffn_{part}.weight": (INNER, WIDTH) for part in ("gate", "up")}
        shapes |= {f"{block}ffn_down.weight": (WIDTH, INNER)}
        shapes |= {f"{block}{part}_norm.weight": (WIDTH,) for part in ("attn", "ffn")}
    return shapes
