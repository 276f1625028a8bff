"""Tiny models with random weights and tokenizers trained in code: small enough for a forward a token.

Their texts are nonsense, but nonsense in sentences: the vocabularies hold full stops, abbreviations and line breaks,
and the rows of a few tokens in the output layer are made longer, so that these are chosen as often as tests need.
"""

import random
from functools import lru_cache
from typing import Any

import torch

WINDOW = 12  # tokens; every sliding window of the tiny models, shorter than any prompt
LOGIT_SPREAD = 5.0  # standard deviation of the logits of one token
CONTEXT = 2048  # tokens; positions of the tiny models

_WORDS = (  # noqa: SIM905
    "the a of in on and was is born built town harbour river Anna Borg Calder Doria Edda Falk Gora Hale Ilma Jonas "
    "ship book school mayor wrote sailed opened painted king north stone bridge market tower café Zürich naïve old "
    "year first who when where which director film song river singer died later city named after daughter son"
).split()
_ABBREVIATIONS = ("Dr.", "Mr.", "St.", "No.", "e.g.", "U.S.", "J. K.", "Jan.", "Ph.D.")


def tiny_text(seed: int = 0, sentences: int = 400) -> list[str]:
    """Short texts of the kind that the tokenizers are trained on and the tests ask about."""
    rng = random.Random(seed)
    texts = []
    for _ in range(sentences):
        words = rng.choices(_WORDS, k=rng.randint(2, 5))
        if rng.random() < 0.3:
            words.insert(rng.randrange(len(words)), rng.choice(_ABBREVIATIONS))
        if rng.random() < 0.15:
            words.append(str(rng.randint(1, 2030)))
        sentence = " ".join(words)
        end = rng.choice([".", ".", ".", ".", "?", "!", '."', ".)"])
        texts.append(sentence[0].upper() + sentence[1:] + end)
    return texts


def tiny_questions(count: int, seed: int = 0) -> list[str]:
    """Questions made of the tokenizers' words."""
    rng = random.Random(f"questions {seed}")
    starts = ("Who was", "When was", "Where is", "Which of", "Who wrote")
    return [f"{rng.choice(starts)} {' '.join(rng.choices(_WORDS, k=rng.randint(2, 6)))}?" for _ in range(count)]


@lru_cache(maxsize=2)
def tiny_tokenizer(kind: str = "bytes") -> Any:
    """`bytes`: byte-level BPE where ". A" and ".\\n" are tokens, no BOS, as GPT-2 is.

    `metaspace`: BPE with a space put in front of every text, byte fallback and BOS, as Llama 2 is.
    """
    from transformers import PreTrainedTokenizerFast

    trained, bos = {"bytes": _byte_level, "metaspace": _metaspace}[kind]()
    return PreTrainedTokenizerFast(
        tokenizer_object=trained, eos_token="</s>", bos_token=bos, clean_up_tokenization_spaces=False
    )


def _running_text() -> list[str]:
    rng = random.Random(1)
    texts = tiny_text()
    return ["".join(s + rng.choice([" ", " ", " ", "\n", "\n\n"]) for s in texts[i : i + 8]) for i in range(0, 400, 8)]


# Words with the space before them, as real tokenizers have them, but some full stops together with what follows.
_SPLIT = r'[.?!][")]?\n+|\. [A-M]|[^\S\n]?\w+|\n+|[^\S\n]?[^\s\w]+|\s'


def _byte_level() -> tuple[Any, str | None]:
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_SPLIT), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=320, special_tokens=["</s>"], show_progress=False)
    tokenizer.train_from_iterator([*_running_text(), _CHARACTERS], trainer)
    return tokenizer, None


def _metaspace() -> tuple[Any, str | None]:
    from tokenizers import Tokenizer, decoders, models, normalizers, processors, trainers

    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    few_bytes = [f"<0x{byte:02X}>" for byte in (0x0A, 0xC3, 0xA9, 0xE6, 0x9D, 0xB1)]
    trainer = trainers.BpeTrainer(
        vocab_size=300, special_tokens=["<unk>", "<s>", "</s>", *few_bytes], max_token_length=5, show_progress=False
    )
    tokenizer.train_from_iterator([text.replace("\n", " ") for text in [*_running_text(), _CHARACTERS]], trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", tokenizer.token_to_id("<s>"))]
    )
    return tokenizer, "<s>"


_CHARACTERS = "".join(chr(i) for i in range(32, 127)) + "\n"  # so that any ASCII prompt can be encoded


_SMALL = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "max_position_embeddings": CONTEXT,
    "attention_dropout": 0.0,
}
_EXPERTS = {"num_experts_per_tok": 2, "moe_intermediate_size": 24}
_SLIDING = {"sliding_window": WINDOW}
_MIXED = {**_SLIDING, "layer_types": ["sliding_attention", "full_attention"]}
_GPT = {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": CONTEXT, "n_inner": 48}

_YARN = {
    "rope_type": "yarn",
    "rope_theta": 10_000.0,
    "factor": 32.0,
    "original_max_position_embeddings": CONTEXT // 32,
    "beta_fast": 32.0,
    "beta_slow": 1.0,
    "truncate": False,
}

# Model type -> what its config needs besides `_SMALL`. All of them go through Transformers' attention interface.
ARCHITECTURES: dict[str, dict[str, Any]] = {
    "llama": {},
    "mistral": _SLIDING,
    "qwen2": {},
    "qwen3": {},
    "qwen3_moe": {**_EXPERTS, "num_experts": 4, "decoder_sparse_step": 1, "mlp_only_layers": []},
    "mixtral": {**_SLIDING, "num_local_experts": 4, "num_experts_per_tok": 2},
    "gemma2": {**_MIXED, "query_pre_attn_scalar": 8, "attn_logit_softcapping": 5.0, "final_logit_softcapping": 20.0},
    "gemma3_text": {**_MIXED, "query_pre_attn_scalar": 8},
    "phi": {},
    "phi3": {"pad_token_id": None, **_SLIDING},
    "gpt2": _GPT,
    "gpt_neox": {"rotary_pct": 0.5},
    "gptj": {**_GPT, "rotary_dim": 4},
    "opt": {"ffn_dim": 48, "word_embed_proj_dim": 32, "dropout": 0.0},
    "olmo2": {},
    "granite": {},
    "smollm3": {"no_rope_layers": [1, 0], "pad_token_id": None},
    "starcoder2": {**_SLIDING, "use_bias": True},
    "stablelm": {},
    "cohere": {},
    "gpt_oss": {**_MIXED, "num_local_experts": 4, "num_experts_per_tok": 2, "rope_parameters": _YARN},
    "cohere2": {**_MIXED, "pad_token_id": None},
    "glm4": {"pad_token_id": None},
    "exaone4": _MIXED,
    "olmo3": _MIXED,
    "helium": {},
    "nemotron": {},
    "gemma": {},
}


# More that the engine must run, by the same names or as `model type + what is special`; for short numeric tests.
VARIANTS: dict[str, dict[str, Any]] = {
    "arcee": {},
    "apertus": {},
    "codegen": {**_GPT, "rotary_dim": 4},
    "ernie4_5": {},
    "hunyuan_v1_dense": {},
    "seed_oss": {},
    "llama+yarn": {"rope_parameters": _YARN},
    "llama+llama3": {
        "rope_parameters": {
            "rope_type": "llama3",
            "rope_theta": 10_000.0,
            "factor": 8.0,
            "low_freq_factor": 1.0,
            "high_freq_factor": 4.0,
            "original_max_position_embeddings": 64,
        }
    },
    "llama+bias": {"attention_bias": True, "mlp_bias": True},
    "llama+one kv head": {"num_key_value_heads": 1},
    "llama+wide heads": {"head_dim": 16},
    "qwen3+window": {"use_sliding_window": True, "max_window_layers": 1, **_SLIDING},
    "stablelm+parallel": {"use_parallel_residual": True, "qk_layernorm": True},
    "gpt_neox+serial": {"rotary_pct": 0.25, "use_parallel_residual": False},
}

TIED = ("qwen2",)  # random tied weights only repeat the last token in most of the others


def tiny_config(arch: str, tokenizer: Any) -> Any:
    """The config of a tiny model of type `arch`, with the vocabulary of `tokenizer`."""
    from transformers import AutoConfig

    options = {**_SMALL, **(ARCHITECTURES | VARIANTS)[arch]}
    ids = {"bos_token_id": tokenizer.bos_token_id, "eos_token_id": tokenizer.eos_token_id, "pad_token_id": None}
    options = {**options, **ids, "vocab_size": len(tokenizer), "initializer_range": 0.4}
    options["tie_word_embeddings"] = arch in TIED
    return AutoConfig.for_model(arch.split("+")[0], **options)


def tiny_model(
    arch: str, dtype: torch.dtype = torch.float64, seed: int = 0, kind: str = "bytes", tokenizer: Any = None
) -> Any:
    """A model of type `arch` with random weights; those of fp32 and fp64 are equal up to rounding.

    Its vocabulary is that of `tokenizer`, by default of the tiny one of this `kind`.
    """
    from transformers import AutoModelForCausalLM

    stops = {"bytes": 1.35, "metaspace": 1.15}[kind] if tokenizer is None else 1.5
    tokenizer = tokenizer or tiny_tokenizer(kind)
    torch.manual_seed(seed)
    config = tiny_config(arch, tokenizer)
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, weights in model.named_parameters():
            if name.endswith(("bias", "sinks")):  # zeros or unset otherwise
                weights.copy_(torch.randn(weights.shape, generator=generator) * 0.3)
        rows = model.get_output_embeddings().weight
        rows.mul_(_row_lengths(tokenizer, stops)[: len(rows), None])
    if hasattr(model, "set_experts_implementation"):
        model.set_experts_implementation("eager")
    _sharpen(model)
    model.generation_config.eos_token_id = tokenizer.eos_token_id
    return model.to(dtype).eval()


def _sharpen(model: Any) -> None:
    """Scales the output rows so that the best token's probability ranges over all of (0, 1)."""
    output = model.get_output_embeddings()
    ids = torch.arange(256).reshape(4, -1)
    with torch.no_grad():
        for _ in range(3):  # a softcap on the logits needs more than one step
            spread = model(input_ids=ids, use_cache=False).logits.std(dim=-1).mean()
            for weights in output.parameters():
                weights.mul_(LOGIT_SPREAD / spread)


def _row_lengths(tokenizer: Any, stops: float) -> torch.Tensor:
    """[vocabulary]: factors of the output rows, `stops` for full stops; a longer row is chosen more often."""
    texts = [tokenizer.decode([i]) for i in range(len(tokenizer))]
    factors = torch.ones(len(texts))
    for i, text in enumerate(texts):
        if "\n\n" in text or "\ufffd" in text:
            factors[i] = 0.9
        elif text == "\n":
            factors[i] = 1.1
        elif "." in text:
            factors[i] = stops
    factors[tokenizer.eos_token_id] = 1.25
    return factors
