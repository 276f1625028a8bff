"""GGUF files are converted once, whole or not at all."""

from pathlib import Path

import pytest
import torch

from flare_local.engine import gguf
from flare_local.engine.cache_folder import cache_folder
from flare_local.engine.gguf import converted_folder
from flare_local.engine.model import load_model
from flare_local.errors import DiskFull, ModelError
from tests.engine.tiny_gguf import WIDTH, write_tiny_gguf


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FLARE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "gguf"


def test_a_gguf_file_loads_with_its_own_weights(tmp_path: Path) -> None:
    from gguf import GGUFReader

    file = write_tiny_gguf(tmp_path / "tiny.gguf")
    model = load_model(str(file))
    written = next(t.data for t in GGUFReader(file).tensors if t.name == "token_embd.weight").reshape(-1, WIDTH)
    loaded = model.module.get_input_embeddings().weight
    assert torch.equal(loaded, torch.tensor(written).bfloat16().float())
    assert model.eos_ids == {0}
    assert model.context_length == 128
    assert model.codec.decode(model.codec.encode("the cat<|end|> é")) == "the cat<|end|> é"


def test_a_conversion_shows_no_bar_in_a_pipe(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    converted_folder(write_tiny_gguf(tmp_path / "tiny.gguf", seed=4))
    assert capfd.readouterr() == ("", "")


def test_the_second_load_converts_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write_tiny_gguf(tmp_path / "tiny.gguf", seed=1)
    folder = converted_folder(file)
    monkeypatch.setattr(gguf, "_convert", None)
    assert converted_folder(file) == folder
    assert converted_folder(file.rename(tmp_path / "other-name.gguf")) == folder


def test_another_content_is_another_model(tmp_path: Path) -> None:
    file = write_tiny_gguf(tmp_path / "tiny.gguf", seed=2)
    folder = converted_folder(file)
    write_tiny_gguf(file, seed=3)
    assert converted_folder(file) != folder


def test_an_interrupted_conversion_leaves_nothing(
    tmp_path: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(path: Path, folder: Path) -> None:
        (folder / "config.json").write_text("{}")
        raise KeyboardInterrupt

    monkeypatch.setattr(gguf, "_convert", interrupted)
    with pytest.raises(KeyboardInterrupt):
        converted_folder(write_tiny_gguf(tmp_path / "tiny.gguf"))
    assert list(own_cache.iterdir()) == []


def test_two_processes_may_convert_the_same_file(
    tmp_path: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    convert = gguf._convert

    def overtaken(path: Path, folder: Path) -> None:
        monkeypatch.setattr(gguf, "_convert", convert)
        converted_folder(path)  # the other process is done first
        convert(path, folder)

    monkeypatch.setattr(gguf, "_convert", overtaken)
    folder = converted_folder(write_tiny_gguf(tmp_path / "tiny.gguf"))
    assert [entry.name for entry in own_cache.iterdir()] == [folder.name]


def test_broken_and_unknown_files_are_told_in_one_line(tmp_path: Path) -> None:
    whole = write_tiny_gguf(tmp_path / "whole.gguf").read_bytes()
    half = tmp_path / "half.gguf"
    half.write_bytes(whole[: len(whole) // 2])
    strange = write_tiny_gguf(tmp_path / "strange.gguf", architecture="perceiver")
    head = tmp_path / "head.gguf"
    head.write_bytes(whole[:40])
    for file in (half, head, strange):
        with pytest.raises(ModelError, match=f"{file.name} cannot be converted") as caught:
            converted_folder(file)
        assert "\n" not in str(caught.value)
    assert not list((cache_folder() / "gguf").glob("unfinished-*"))


def test_a_cache_folder_that_cannot_be_written_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("FLARE_CACHE", str(tmp_path / "file"))
    with pytest.raises(DiskFull, match="cannot be written"):
        converted_folder(write_tiny_gguf(tmp_path / "tiny.gguf"))
