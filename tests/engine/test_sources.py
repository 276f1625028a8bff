"""From a name to a folder: what is found, what is fetched, and one clear line for everything else."""

import json
import shutil
from pathlib import Path

import pytest

from flare_local.engine.sources import find_source
from flare_local.errors import ModelError
from tests.engine.tiny import save_tiny
from tests.engine.tiny_gguf import write_tiny_gguf

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture
def copy(folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(folder, tmp_path / "copy"))


def in_hub_cache(caches: Path, name: str, folder: Path) -> Path:
    repository = caches / "hub" / f"models--{name.replace('/', '--')}"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text(COMMIT)
    return Path(shutil.copytree(folder, repository / "snapshots" / COMMIT))


def test_a_folder_of_safetensors_is_used_as_it_is(folder: Path) -> None:
    source = find_source(str(folder))
    assert source.folder == folder
    assert [file.name for file in source.weights] == ["model.safetensors"]
    assert not source.is_pickle


def test_a_hub_model_on_this_machine_needs_no_network(caches: Path, folder: Path) -> None:
    snapshot = in_hub_cache(caches, "someone/tiny", folder)
    assert find_source("someone/tiny").folder == snapshot


def test_half_a_hub_model_is_not_used(caches: Path, folder: Path) -> None:
    (in_hub_cache(caches, "someone/half", folder) / "model.safetensors").unlink()
    with pytest.raises(ModelError, match=r"holds no weights.*Fetch the model again"):
        find_source("someone/half")


def test_shards_are_those_of_the_index(copy: Path) -> None:
    (copy / "model.safetensors").rename(copy / "model-00001-of-00001.safetensors")
    index = {"weight_map": {"a": "model-00001-of-00001.safetensors", "b": "model-00001-of-00001.safetensors"}}
    (copy / "model.safetensors.index.json").write_text(json.dumps(index))
    (copy / "consolidated.safetensors").write_bytes(b"another copy of the weights")
    assert [file.name for file in find_source(str(copy)).weights] == ["model-00001-of-00001.safetensors"]


def test_pickled_weights_need_a_flag(copy: Path) -> None:
    (copy / "model.safetensors").unlink()
    (copy / "pytorch_model.bin").write_bytes(b"")
    with pytest.raises(ModelError, match=r"pickle \(pytorch_model.bin\).*--allow-pickle"):
        find_source(str(copy))
    assert find_source(str(copy), allow_pickle=True).is_pickle


def test_safetensors_go_before_pickles(copy: Path) -> None:
    (copy / "pytorch_model.bin").write_bytes(b"")
    assert not find_source(str(copy), allow_pickle=True).is_pickle


def test_a_folder_with_one_gguf_file_is_that_model(tmp_path: Path) -> None:
    write_tiny_gguf(tmp_path / "tiny.gguf")
    source = find_source(str(tmp_path))
    assert source.name == str(tmp_path)
    assert (source.folder / "model.safetensors").is_file()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("", "name is empty"),
        ("/nowhere/model", "no model at /nowhere/model"),
        ("./model.gguf", r"no model at ./model.gguf"),
        ("a/b/c", "no model at a/b/c"),
        ("not a name!", "cannot be a Hugging Face name"),
        ("someone/absent", "not on this machine, and the hub cannot be reached"),
        ("absent", "There is no folder absent"),
    ],
)
def test_a_name_of_nothing_says_what_is_looked_for(name: str, text: str) -> None:
    with pytest.raises(ModelError, match=text) as caught:
        find_source(name)
    assert "\n" not in str(caught.value)


def test_folders_that_hold_no_model_say_what_is_missing(copy: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(ModelError, match=r"config\.json is missing"):
        find_source(str(empty))
    (empty / "adapter_config.json").write_text("{}")
    with pytest.raises(ModelError, match="is an adapter, not a model"):
        find_source(str(empty))
    for name in ("a.gguf", "b.gguf"):
        (empty / name).write_bytes(b"GGUF")
    with pytest.raises(ModelError, match=r"2 GGUF files \(a.gguf, b.gguf\)"):
        find_source(str(empty))
    (copy / "model.safetensors").unlink()
    with pytest.raises(ModelError, match=r"holds no weights: neither model\.safetensors"):
        find_source(str(copy))


def test_an_index_that_lies_is_told(copy: Path) -> None:
    index = copy / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"a": "model.safetensors", "b": "lost.safetensors"}}))
    with pytest.raises(ModelError, match=r"lacks 1 of 2 weight files \(lost.safetensors\)"):
        find_source(str(copy))
    index.write_text("{")
    with pytest.raises(ModelError, match=r"index\.json is broken"):
        find_source(str(copy))


def test_a_file_that_is_no_gguf_is_told(copy: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="one file of a model"):
        find_source(str(copy / "model.safetensors"))
    note = tmp_path / "note.txt"
    note.write_text("hello")
    with pytest.raises(ModelError, match="does not begin with GGUF"):
        find_source(str(note))
