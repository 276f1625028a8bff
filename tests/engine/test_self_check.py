"""The check before a model's first use: it passes what is computed right, and nothing else."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from flare_local.engine import attention, self_check
from flare_local.engine.mask_probe import check_masks
from flare_local.engine.model import LoadedModel, load_model
from flare_local.engine.plan import Plan
from flare_local.engine.self_check import check_model
from flare_local.engine.text import TextCodec
from flare_local.engine.twin import WINDOW, make_twin
from flare_local.errors import ModelRefused
from tests.engine.tiny import save_tiny
from tests.tiny_models import ARCHITECTURES, tiny_model, tiny_tokenizer

CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FLARE_CACHE", str(tmp_path))
    return tmp_path


def loaded(arch: str, dtype: torch.dtype = torch.float32) -> LoadedModel:
    module = tiny_model(arch, dtype)
    vocabulary = module.config.get_text_config().vocab_size
    codec = TextCodec(tiny_tokenizer("bytes"))
    return LoadedModel(module, codec, arch, f"{arch} {dtype}", dtype, CPU, 2048, frozenset(), vocabulary)


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_every_served_architecture_passes_with_its_twin(arch: str) -> None:
    checked = check_model(loaded(arch))
    assert checked.distance < 1e-4
    assert checked.twin_distance is not None
    assert checked.twin_distance < 2e-6


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("arch", ["llama", "gemma2", "mixtral", "gpt_oss"])
def test_every_dtype_passes(arch: str, dtype: torch.dtype) -> None:
    checked = check_model(loaded(arch, dtype))
    assert checked.distance < checked.allowed / 1.5


def test_the_module_keeps_its_attention() -> None:
    model = loaded("llama")
    before = model.module.config._attn_implementation
    check_model(model)
    assert model.module.config._attn_implementation == before


def test_a_pass_is_kept_and_a_refusal_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    model = loaded("llama")
    monkeypatch.setattr(self_check, "FLOAT32_SHARE", 0.0)
    for _ in range(2):
        with pytest.raises(ModelRefused):
            check_model(model)
    monkeypatch.undo()
    first = check_model(model)
    monkeypatch.setattr(self_check, "check_masks", None)  # would fail if it ran again
    assert check_model(model) == first


def test_another_content_is_checked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    check_model(loaded("llama"))
    monkeypatch.setattr(self_check, "check_masks", None)
    with pytest.raises(ModelRefused, match="'NoneType' object is not callable"):
        check_model(loaded("llama", torch.float64))


def test_a_window_one_token_too_wide_shows_in_the_twin(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = Plan.parts
    monkeypatch.setattr(Plan, "parts", lambda plan, window: parts(plan, window and window + 1))
    check_model(loaded("llama"))
    with pytest.raises(ModelRefused, match=r"small copy of it with a short window.* of their spread away"):
        check_model(loaded("mistral"))


def rescaled(monkeypatch: pytest.MonkeyPatch) -> None:
    """A mistake that only the model itself can show: the twin has another head width."""
    partial = attention._partial

    def wrong(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, part: Any, scale: float, cap: Any) -> Any:
        return partial(query, key, value, part, scale * (1.5 if query.shape[-1] == 8 else 1.0), cap)

    monkeypatch.setattr(attention, "_partial", wrong)


def forgetful(monkeypatch: pytest.MonkeyPatch) -> None:
    """One kind of part is left out: what lies scattered in the pool."""
    parts = Plan.parts
    monkeypatch.setattr(
        Plan, "parts", lambda plan, window: [part for part in parts(plan, window) if part.first or part.own]
    )


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("mistake", [rescaled, forgetful])
def test_wrong_attention_is_refused_in_every_dtype(
    mistake: Callable[[pytest.MonkeyPatch], None], dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    mistake(monkeypatch)
    with pytest.raises(ModelRefused, match="of their spread away"):
        check_model(loaded("llama", dtype))


def test_twins_are_small_windowed_and_grouped_as_their_models() -> None:
    twin = make_twin(tiny_model("gemma3_text"))
    config = twin.config
    assert config.sliding_window == WINDOW
    assert config.layer_types == ["sliding_attention", "full_attention"]
    assert config.num_attention_heads // config.num_key_value_heads == 2
    assert {weights.dtype for weights in twin.parameters()} == {torch.float64}


def tiny(model_type: str, **options: Any) -> Any:
    from transformers import AutoConfig, AutoModelForCausalLM

    sizes = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4}
    config = AutoConfig.for_model(model_type, **{**sizes, "vocab_size": 64, "pad_token_id": 0, **options})
    return AutoModelForCausalLM.from_config(config).eval()


def test_masks_that_the_engine_does_not_know_are_refused() -> None:
    chunks = tiny(
        "llama4_text",
        num_key_value_heads=2,
        head_dim=8,
        intermediate_size_mlp=48,
        attention_chunk_size=8,
        layer_types=["chunked_attention", "full_attention"],
        num_local_experts=2,
    )
    with pytest.raises(ModelRefused, match="local attention of 8 tokens, but its attention gets no window"):
        check_masks(chunks, CPU, "some/model", 4)
    with pytest.raises(ModelRefused, match="wants to see other tokens than those before it"):
        check_masks(tiny("bert"), CPU, "some/model", 4)


def test_layers_beside_the_attention_interface_are_refused() -> None:
    with pytest.raises(
        ModelRefused, match=r"attention was called for layers \[\], but each of its 2 layers must call it once"
    ):
        check_masks(tiny("falcon"), CPU, "some/model", 4)


def test_a_model_whose_layers_lie_on_disk_passes_and_generates(tmp_path: Path) -> None:
    import asyncio

    from flare_local.engine.call import Call
    from flare_local.engine.engine import Engine

    folder = save_tiny(tmp_path / "tiny")
    names = ["model.embed_tokens", "model.layers.0", "model.layers.1", "model.norm", "model.rotary_emb", "lm_head"]
    answers = []
    for where in (None, dict.fromkeys(names, "disk")):
        model = load_model(str(folder), device_map=where, offload_folder=str(tmp_path / "offload"))
        check_model(model, fresh=True)
        with Engine(model, slots=200) as engine:
            answers.append(asyncio.run(engine.generate(Call(prompt=(5, 17, 42), max_new_tokens=20))).tokens)
    assert answers[0] == answers[1]


def test_a_forward_that_fails_is_a_refusal_with_its_reason() -> None:
    model = loaded("llama")
    model.module.model.norm.forward = None
    with pytest.raises(ModelRefused, match=r"its forward fails \(TypeError: .*\)"):
        check_model(model)
