"""Which architectures are refused, by what they are, and which are not."""

from typing import Any

import pytest
from transformers import AutoConfig

from flare_local.engine.refusals import refuse_config, refuse_context
from flare_local.errors import ModelRefused
from tests.tiny_models import ARCHITECTURES, tiny_config, tiny_tokenizer


def refuse(model_type: str, **options: Any) -> None:
    refuse_config(AutoConfig.for_model(model_type, **options), "some/model")


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_no_served_architecture_is_refused(arch: str) -> None:
    refuse_config(tiny_config(arch, tiny_tokenizer("bytes")), arch)


@pytest.mark.parametrize(
    ("model_type", "reason"),
    [
        ("falcon", "attention interface"),
        ("bloom", "attention interface"),
        ("gpt_neo", "attention interface"),
        ("mpt", "attention interface"),
        ("openai-gpt", "attention interface"),
        ("mamba", "rolled back"),
        ("mamba2", "rolled back"),
        ("rwkv", "rolled back"),
        ("qwen3_next", "rolled back"),
        ("jamba", "rolled back"),
        ("bamba", "rolled back"),
        ("recurrent_gemma", "rolled back"),
        ("falcon_h1", "rolled back"),
        ("zamba2", "rolled back"),
        ("minimax", "rolled back"),
        ("llama4_text", "chunks"),
        ("t5", "encoder-decoder"),
        ("bart", "encoder-decoder"),
        ("whisper", "encoder-decoder"),
        ("distilbert", "no causal language model"),
        ("vit", "no causal language model"),
    ],
)
def test_models_that_cannot_run_exactly_are_refused_by_name_with_the_reason(model_type: str, reason: str) -> None:
    with pytest.raises(ModelRefused, match=rf"some/model \({model_type}\) cannot run here: .*{reason}"):
        refuse(model_type)


def test_one_layer_of_another_kind_is_enough() -> None:
    with pytest.raises(ModelRefused, match="it has conv layers"):
        refuse("lfm2", num_hidden_layers=2, layer_types=["conv", "full_attention"])


def test_attention_to_later_tokens_is_refused() -> None:
    config = AutoConfig.for_model("llama")
    config.is_causal = False
    with pytest.raises(ModelRefused, match="sees later tokens"):
        refuse_config(config, "some/model")
    with pytest.raises(ModelRefused, match="sees later tokens"):
        refuse("gemma3_text", use_bidirectional_attention=True)


def test_dynamic_rotary_embeddings_are_served_up_to_their_length_only() -> None:
    rope = {"rope_type": "dynamic", "factor": 4.0, "rope_theta": 10_000.0}
    config = AutoConfig.for_model("llama", rope_parameters=rope, max_position_embeddings=2048)
    refuse_context(config, "some/model", None)
    refuse_context(config, "some/model", 2048)
    with pytest.raises(ModelRefused, match=r"beyond 2048 tokens.*8192 was asked for.*Ask for 2048 or less"):
        refuse_context(config, "some/model", 8192)
