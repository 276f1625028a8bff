"""Does it work here: a tiny model through the engine, a tiny corpus through an index, in seconds, nothing kept."""

import asyncio
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from flare_local.errors import FlareError

PROMPT = "Question: Where is the harbour?\nAnswer:"
NEW_TOKENS = 24
TOLERANCE = 1e-4  # of a probability in fp32 (docs/exactness.md)
PASSAGES = {"p1": "The harbour lies north of the bridge.", "p2": "The mayor wrote a book of songs."}


def engine_agrees() -> str:
    """Runs a random model of two layers through the engine, twice over one prefix, and compares with plain forwards.

    Returns what was seen. Raises `FlareError` where a token or a probability differs.
    """
    from flare_local.engine.call import Call, Whole
    from flare_local.engine.engine import Engine

    model = _tiny_model()
    prompt = model.codec.encode(PROMPT)
    calls = [Call(prompt, Whole(), NEW_TOKENS), Call((*prompt, 65, 66), Whole(), NEW_TOKENS, speculate=(67, 68))]
    with Engine(model, slots=256) as engine:
        generations = [asyncio.run(engine.generate(call)) for call in calls]
    model.module.set_attn_implementation("sdpa")  # away from the engine's own attention
    for call, generation in zip(calls, generations, strict=True):
        _compare(model, call.prompt, generation.tokens, generation.probabilities)
    reused = sum(generation.counters.reused for generation in generations)
    if not reused:
        raise FlareError("The engine reused nothing over a shared prefix.", "Please report this.")
    return f"{len(calls) * NEW_TOKENS} tokens equal to plain forwards, {reused} prompt tokens reused"


def index_finds() -> str:
    """Builds an index of two passages in a temporary folder and searches it. Returns what was seen."""
    from flare_local.retrieval.build import build_index
    from flare_local.retrieval.lucene import LuceneIndex

    with TemporaryDirectory(prefix="flare-doctor-") as folder:
        corpus, out = Path(folder, "corpus.jsonl"), Path(folder, "index")
        corpus.write_text("".join(json.dumps({"id": i, "text": t}) + "\n" for i, t in PASSAGES.items()), "utf-8")
        build_index(corpus, out)
        with LuceneIndex.open(out) as index:
            found = index.search_now(["Where is the harbour?"], 2)[0]
    if [document.id for document in found] != ["p1"]:
        raise FlareError(f"The index found {[document.id for document in found]} instead of p1.", "Please report this.")
    return f"{len(PASSAGES)} passages indexed, the right one found"


def _tiny_model() -> Any:
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    from flare_local.engine.model import LoadedModel
    from flare_local.engine.text import TextCodec

    config = LlamaConfig(
        vocab_size=257,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=256,
        initializer_range=0.3,  # large enough that probabilities are far from flat
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        module = LlamaForCausalLM(config).eval().requires_grad_(False)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=_byte_tokenizer(), eos_token="</s>")
    return LoadedModel(
        module=module,
        codec=TextCodec(tokenizer),
        name="doctor",
        fingerprint="0" * 32,
        dtype=torch.float32,
        device=torch.device("cpu"),
        context_length=256,
        eos_ids=frozenset(),  # so that every call runs to its full length
        vocab_size=257,
    )


def _byte_tokenizer() -> Any:
    """One token a byte, and an end token."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE({**{byte: number for number, byte in enumerate(alphabet)}, "</s>": 256}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def _compare(model: Any, prompt: tuple[int, ...], tokens: tuple[int, ...], probabilities: tuple[float, ...]) -> None:
    """One plain forward over prompt and output: each token must be its arg max, each probability its softmax."""
    import torch

    ids = torch.tensor([[*prompt, *tokens]])
    logits = model.module(input_ids=ids, use_cache=False).logits[0, len(prompt) - 1 : -1]
    expected = logits.softmax(dim=-1).gather(1, torch.tensor(tokens)[:, None])[:, 0]
    if logits.argmax(dim=-1).tolist() != list(tokens):
        raise FlareError("The engine chose other tokens than a plain forward.", "Please report this with the versions.")
    distance = float((expected - torch.tensor(probabilities)).abs().max())
    if distance > TOLERANCE:
        raise FlareError(f"The engine's probabilities are off by {distance:.1e}.", "Please report this.")
