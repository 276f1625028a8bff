"""Loading: what is known of a model afterwards, and one clear line for every input that cannot be loaded."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from flare_local.engine import model as loading
from flare_local.engine.model import LoadedModel, load_model
from flare_local.errors import FlareError, ModelError, ModelRefused, OutOfMemory, UsageError
from tests.engine.tiny import save_config, save_tiny
from tests.tiny_models import CONTEXT, tiny_model, tiny_tokenizer

IDS = torch.tensor([[5, 17, 42, 7, 99, 120, 3]])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture
def copy(folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(folder, tmp_path / "copy"))


def edit(file: Path, **changes: Any) -> None:
    file.write_text(json.dumps({**json.loads(file.read_text()), **changes}))


def logits(model: LoadedModel) -> torch.Tensor:
    return model.module(input_ids=IDS, use_cache=False).logits


def test_a_folder_loads_with_its_weights_in_the_dtype_asked_for(folder: Path) -> None:
    for name, dtype in loading.DTYPES.items():
        model = load_model(str(folder), dtype=name)
        assert model.dtype == dtype
        assert {parameter.dtype for parameter in model.module.parameters()} == {dtype}
    expected = tiny_model("llama", torch.float64)(input_ids=IDS).logits
    assert torch.allclose(logits(load_model(str(folder), dtype="float64")), expected, atol=1e-5)


def test_what_the_engine_must_know_is_read_from_the_files(folder: Path) -> None:
    model = load_model(str(folder))
    tokenizer = tiny_tokenizer("bytes")
    assert model.name == str(folder)
    assert (model.dtype, model.device) == (torch.float32, torch.device("cpu"))
    assert model.context_length == CONTEXT
    assert model.vocab_size == len(tokenizer)
    assert model.eos_ids == {tokenizer.eos_token_id}
    assert not model.module.training
    assert not any(parameter.requires_grad for parameter in model.module.parameters())


def test_every_id_that_ends_an_answer_counts(copy: Path) -> None:
    edit(copy / "generation_config.json", eos_token_id=[3, 5])
    edit(copy / "config.json", eos_token_id=9)
    assert load_model(str(copy)).eos_ids == {3, 5, 9}


def test_a_model_that_begins_another_text_has_ended_this_one(copy: Path) -> None:
    edit(copy / "tokenizer_config.json", bos_token="e")
    model = load_model(str(copy))
    assert model.eos_ids == {tiny_tokenizer("bytes").eos_token_id, model.codec.tokenizer.bos_token_id}


def test_the_tokenizer_names_eos_where_the_model_does_not(copy: Path) -> None:
    (copy / "generation_config.json").unlink()
    edit(copy / "config.json", eos_token_id=None)
    assert load_model(str(copy)).eos_ids == {tiny_tokenizer("bytes").eos_token_id}


@pytest.mark.parametrize("arch", ["gpt2", "opt", "gptj"])
def test_the_context_is_found_under_its_older_names(arch: str, tmp_path: Path) -> None:
    assert load_model(str(save_tiny(tmp_path, arch))).context_length == CONTEXT


def test_a_shorter_context_may_be_asked_for(folder: Path) -> None:
    assert load_model(str(folder), context=100).context_length == 100
    with pytest.raises(
        ModelError, match=f"context of {CONTEXT + 1} tokens was asked for; the model holds 1 to {CONTEXT}"
    ):
        load_model(str(folder), context=CONTEXT + 1)


def test_the_fingerprint_is_that_of_content_dtype_and_tokenizer(folder: Path, copy: Path) -> None:
    first = load_model(str(folder)).fingerprint
    assert load_model(str(copy)).fingerprint == first
    assert load_model(str(copy), dtype="float64").fingerprint != first
    weights = copy / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    changed = load_model(str(copy)).fingerprint
    assert changed != first
    edit(copy / "tokenizer_config.json", model_max_length=77)
    assert load_model(str(copy)).fingerprint not in {first, changed}


def test_layers_on_disk_give_the_same_logits(folder: Path, tmp_path: Path) -> None:
    parts = {"model.embed_tokens": "cpu", "model.layers.0": "disk", "model.layers.1": "disk", "model.norm": "cpu"}
    whole = {**parts, "model.rotary_emb": "cpu", "lm_head": "cpu"}
    model = load_model(str(folder), device_map=whole, offload_folder=str(tmp_path / "offload"))
    assert model.device == torch.device("cpu")
    assert any(parameter.is_meta for parameter in model.module.parameters())
    assert torch.equal(logits(model), logits(load_model(str(folder))))
    everything = load_model(str(folder), device_map=dict.fromkeys(whole, "disk"), offload_folder=str(tmp_path / "all"))
    assert everything.device == torch.device("cpu")
    assert torch.equal(logits(everything), logits(model))


def test_a_device_map_may_be_a_file(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "map.json"
    file.write_text(json.dumps({"model": "cpu", "lm_head": "disk"}))
    model = load_model(str(folder), device_map=str(file))
    assert torch.equal(logits(model), logits(load_model(str(folder))))


def test_a_device_map_may_be_left_to_accelerate(folder: Path) -> None:
    model = load_model(str(folder), device_map="auto")
    assert torch.equal(logits(model), logits(load_model(str(folder))))


def test_experts_run_in_float64(tmp_path: Path) -> None:
    model = load_model(str(save_tiny(tmp_path, "mixtral")), dtype="float64")
    assert logits(model).dtype == torch.float64


def test_pickled_weights_load_when_they_are_trusted(copy: Path) -> None:
    from safetensors.torch import load_file

    torch.save(load_file(copy / "model.safetensors"), copy / "pytorch_model.bin")
    (copy / "model.safetensors").unlink()
    with pytest.raises(ModelError, match="--allow-pickle"):
        load_model(str(copy))
    expected = tiny_model("llama", torch.float32)(input_ids=IDS).logits
    assert torch.allclose(logits(load_model(str(copy), allow_pickle=True)), expected, atol=1e-4)


def longrope(folder: Path) -> Path:
    from transformers import AutoConfig, AutoModelForCausalLM

    rope = {"rope_type": "longrope", "rope_theta": 1e4, "partial_rotary_factor": 1.0}
    rope |= {"original_max_position_embeddings": 32, "short_factor": [1.0] * 4, "long_factor": [4.0] * 4}
    config = AutoConfig.from_pretrained(save_tiny(folder, "phi3"))
    config.original_max_position_embeddings = 32
    config.rope_parameters = rope
    AutoModelForCausalLM.from_config(config).save_pretrained(folder)
    return folder


def test_longrope_uses_one_set_of_frequencies_for_the_whole_run(tmp_path: Path) -> None:
    folder = longrope(tmp_path)
    short, long = load_model(str(folder)), load_model(str(folder), context=64)
    assert (short.context_length, long.context_length) == (32, 64)

    def frequencies(model: LoadedModel, positions: int) -> torch.Tensor:
        row = torch.arange(positions)[None]
        model.module(input_ids=row, position_ids=row, use_cache=False)
        return model.module.model.rotary_emb.inv_freq.clone()

    for model in (short, long):
        assert torch.equal(frequencies(model, 8), frequencies(model, 60))
    assert torch.allclose(frequencies(short, 8), 4 * frequencies(long, 8))


def truncate(folder: Path) -> None:
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])


def garble(folder: Path) -> None:
    (folder / "model.safetensors").write_bytes(os.urandom(1000))


def forget_a_tensor(folder: Path) -> None:
    from safetensors.torch import load_file, save_file

    weights = load_file(folder / "model.safetensors")
    del weights["model.layers.1.mlp.up_proj.weight"]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


def without_tokenizer(folder: Path) -> None:
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (folder / name).unlink()


BROKEN: list[tuple[Callable[[Path], object], str]] = [
    (truncate, r"model.safetensors is broken"),
    (garble, r"model.safetensors is broken"),
    (forget_a_tensor, r"lack 1 tensors of its architecture \(model.layers.1.mlp.up_proj.weight\)"),
    (without_tokenizer, "the tokenizer in .* cannot be read"),
    (lambda folder: (folder / "tokenizer.json").write_text("{"), "the tokenizer in .* cannot be read"),
    (lambda folder: (folder / "config.json").write_text("{"), "config.json in .* cannot be read"),
    (lambda folder: edit(folder / "config.json", model_type="nothing"), "config.json in .* cannot be read"),
    (lambda folder: edit(folder / "config.json", model_type="falcon", head_dim=8), "config.json in .* cannot be read"),
    (lambda folder: edit(folder / "config.json", hidden_size=64), "weights of .* do not fit its config.json"),
    (
        lambda folder: edit(folder / "config.json", auto_map={"AutoConfig": "c.C"}, model_type="own"),
        "--trust-remote-code",
    ),
]


@pytest.mark.parametrize(("damage", "text"), BROKEN)
def test_a_broken_folder_says_what_is_broken(
    damage: Callable[[Path], object], text: str, copy: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    damage(copy)
    with pytest.raises(ModelError, match=text) as caught:
        load_model(str(copy))
    assert "\n" not in str(caught.value)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"dtype": "int8"}, UsageError, "--dtype 'int8' is not known. Choose auto, float32"),
        ({"device": "tpu"}, UsageError, "--device 'tpu' is not known"),
        ({"device": "cuda:x"}, UsageError, "--device 'cuda:x' is not known"),
        ({"device_map": "nonsense"}, UsageError, "--device-map 'nonsense' is neither known nor"),
        ({"context": 0}, ModelError, "context of 0"),
    ],
)
def test_a_wrong_option_is_told(options: dict[str, Any], error: type[FlareError], text: str, folder: Path) -> None:
    with pytest.raises(error, match=text) as caught:
        load_model(str(folder), **options)
    assert "\n" not in str(caught.value)


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
def test_a_gpu_that_is_not_there_is_told(folder: Path) -> None:
    with pytest.raises(UsageError, match="--device cuda is not there"):
        load_model(str(folder), device="cuda")


def test_a_refused_architecture_costs_no_time(tmp_path: Path) -> None:
    with pytest.raises(ModelRefused, match="attention interface"):
        load_model(str(save_config(tmp_path, "falcon")))


def test_a_model_too_large_for_the_memory_is_told_before_it_is_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loading, "free_bytes", lambda device: 1000)
    monkeypatch.setattr(loading, "_module", None)
    with pytest.raises(OutOfMemory, match="--device-map"):
        load_model(str(folder))


OWN_CODE = """
from transformers import LlamaConfig, LlamaForCausalLM
class OwnConfig(LlamaConfig):
    model_type = "own"
class OwnForCausalLM(LlamaForCausalLM):
    config_class = OwnConfig
"""


def test_a_model_with_code_of_its_own_runs_when_it_is_trusted(
    copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("transformers.dynamic_module_utils.HF_MODULES_CACHE", str(tmp_path / "modules"))
    (copy / "own.py").write_text(OWN_CODE)
    classes = {"AutoConfig": "own.OwnConfig", "AutoModelForCausalLM": "own.OwnForCausalLM"}
    edit(copy / "config.json", auto_map=classes, model_type="own")
    with pytest.raises(ModelError, match="--trust-remote-code"):
        load_model(str(copy))
    model = load_model(str(copy), trust_remote_code=True)
    assert type(model.module).__name__ == "OwnForCausalLM"
    first = model.fingerprint
    (copy / "own.py").write_text(OWN_CODE + "\n")
    assert load_model(str(copy), trust_remote_code=True).fingerprint != first
