"""The oracle's dense attention against Hugging Face's, and the tiny models: are they worth testing with?"""

import pytest
import torch

from tests.oracle.naive import NaiveModel
from tests.oracle.unit import WHOLE
from tests.tiny_models import ARCHITECTURES, WINDOW, tiny_model, tiny_tokenizer

EAGER_ONLY = ("gemma2", "gpt_oss")  # softcap and sinks: sdpa leaves them out
WINDOWED = ("mistral", "mixtral", "phi3", "starcoder2")
IDS = torch.arange(2, 2 + 3 * WINDOW)[None]


def logits(model, ids=IDS):
    with torch.inference_mode():
        return model(input_ids=ids, use_cache=False).logits


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_dense_attention_is_the_models_own(arch):
    wide = arch not in EAGER_ONLY
    model = tiny_model(arch, torch.float64 if wide else torch.float32)
    model.set_attn_implementation("sdpa" if wide else "eager")
    expected = logits(model)
    NaiveModel(model, tiny_tokenizer())
    assert (logits(model) - expected).abs().max() < (1e-9 if wide else 2e-4)


@pytest.mark.parametrize("arch", EAGER_ONLY)
def test_dense_attention_of_fp64_is_near_that_of_fp32(arch):
    narrow, wide = tiny_model(arch, torch.float32), tiny_model(arch, torch.float64)
    NaiveModel(narrow, tiny_tokenizer()), NaiveModel(wide, tiny_tokenizer())
    assert logits(wide).dtype == torch.float64
    assert (logits(narrow) - logits(wide)).abs().max() < 1e-2


@pytest.mark.parametrize("arch", WINDOWED)
def test_a_token_outside_every_window_is_not_seen(arch):
    model = tiny_model(arch)
    NaiveModel(model, tiny_tokenizer())
    far = 2 * WINDOW  # two layers reach back two windows
    changed = IDS.clone()
    changed[0, -1 - far] += 1
    near = IDS.clone()
    near[0, -WINDOW] += 1
    last = logits(model)[0, -1]
    assert torch.allclose(logits(model, changed)[0, -1], last, atol=1e-12)
    assert not torch.allclose(logits(model, near)[0, -1], last, atol=1e-3)


def test_naive_is_greedy_generate():
    model, tokenizer = tiny_model("llama"), tiny_tokenizer()
    naive = NaiveModel(model, tokenizer)
    prompt = naive.encode("Question: Who was Anna Borg?\nAnswer:")
    expected = model.generate(torch.tensor([prompt]), max_new_tokens=24, do_sample=False)[0, len(prompt) :].tolist()
    assert list(naive.generate(prompt, WHOLE, 24, stops=()).generated) == expected


@pytest.mark.parametrize("kind", ["bytes", "metaspace"])
def test_probabilities_of_a_tiny_model_are_neither_flat_nor_certain(kind):
    naive = NaiveModel(tiny_model("llama", kind=kind), tiny_tokenizer(kind))
    output = naive.generate([*naive.bos, *naive.encode("Where is the harbour?")], WHOLE, 64, stops=())
    assert sum(p < 0.4 for p in output.probabilities) > 4
    assert sum(p > 0.6 for p in output.probabilities) > 4
