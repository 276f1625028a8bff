"""The set-up script with a Python that only pretends: what it installs, what it says, and how it goes on afterwards."""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SCRIPTS = sorted([*(ROOT / "scripts").glob("*.sh"), ROOT / ".ci" / "run"])

# A Python whose `venv` makes another one, and whose `pip` writes down what it was asked for and fails on demand.
PRETENDER = f"""#!/usr/bin/env bash
case "$*" in
  "--version") echo "Python $PRETEND_VERSION" ;;
  *version_info*) [ "$PRETEND_VERSION" != 3.9.2 ] ;;
  "-m venv --clear .venv")
    [ -z "$PRETEND_NO_VENV" ] || exit 1
    mkdir -p .venv/bin && cp "$0" .venv/bin/python ;;
  "-c import pip") ;;
  "-m pip install "*) echo "${{*:4}}" >>pip.log && [ -z "$PRETEND_PIP_FAILS" ] ;;
  *) exec {sys.executable} "$@" ;;
esac
"""


@dataclass
class Project:
    """A project folder with nothing but what the set-up reads."""

    folder: Path
    python: Path

    def set_up(self, *words: str, version: str = "3.11.7", **environment: str) -> subprocess.CompletedProcess[str]:
        pretended = {"PYTHON": str(self.python), "PRETEND_VERSION": version}
        return subprocess.run(
            ["bash", "scripts/setup.sh", *words],
            cwd=self.folder,
            env=os.environ | pretended | environment,
            capture_output=True,
            text=True,
            timeout=60,
        )

    def installed(self) -> list[str]:
        """What pip was asked for since the last look."""
        log = self.folder / "pip.log"
        lines = log.read_text().splitlines() if log.exists() else []
        log.unlink(missing_ok=True)
        return lines


@pytest.fixture
def project(tmp_path: Path) -> Project:
    folder = tmp_path / "a project"  # a blank in its path
    (folder / "scripts").mkdir(parents=True)
    shutil.copy(ROOT / "scripts" / "setup.sh", folder / "scripts")
    for name in ("constraints.txt", "pyproject.toml"):
        shutil.copy(ROOT / name, folder)
    python = tmp_path / "pretender"
    python.write_text(PRETENDER)
    python.chmod(0o755)
    return Project(folder, python)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_scripts_can_be_read_by_bash_and_run(script: Path) -> None:
    assert subprocess.run(["bash", "-n", str(script)]).returncode == 0
    assert os.access(script, os.X_OK)


def test_torch_comes_first_then_the_rest_under_the_constraints(project: Project) -> None:
    assert project.set_up().returncode == 0
    asked = project.installed()
    assert "torch==2.13.0" in asked[0]
    assert asked[-2].endswith("torch==2.13.0")
    assert asked[-1].endswith("--constraint constraints.txt --editable .")


def test_an_extra_is_installed_too(project: Project) -> None:
    assert project.set_up("test").returncode == 0
    assert project.installed()[-1].endswith("--editable .[test]")


def test_the_second_time_nothing_is_installed(project: Project) -> None:
    project.set_up()
    project.installed()
    again = project.set_up()
    assert (again.returncode, again.stderr) == (0, "[setup] .venv is up to date\n")
    assert project.installed() == []


def test_after_a_set_up_with_an_extra_the_base_is_there(project: Project) -> None:
    project.set_up("test")
    project.installed()
    assert project.set_up().stderr == "[setup] .venv is up to date\n"
    assert project.set_up("bm25s").returncode == 0
    assert project.installed()[-1].endswith(".[bm25s]")


def test_a_moved_folder_is_set_up_again(project: Project) -> None:
    project.set_up()
    project.installed()
    project.folder = project.folder.rename(project.folder.with_name("elsewhere"))
    assert project.set_up().returncode == 0
    assert project.installed()


def test_a_changed_pin_is_installed_at_the_next_start(project: Project) -> None:
    project.set_up()
    project.installed()
    with (project.folder / "constraints.txt").open("a") as constraints:
        constraints.write("idna==3.20\n")
    assert project.set_up().returncode == 0
    assert project.installed()


def test_after_an_interruption_it_goes_on_in_the_same_environment(project: Project) -> None:
    broken = project.set_up(PRETEND_PIP_FAILS="1")
    assert broken.returncode == 1
    assert "Run this again: it goes on where it stopped." in broken.stderr
    (project.folder / ".venv" / "kept").touch()
    assert project.set_up().returncode == 0
    assert (project.folder / ".venv" / "kept").exists()


def test_an_old_python_is_refused_with_the_remedy(project: Project) -> None:
    refused = project.set_up(version="3.9.2")
    assert refused.returncode == 1
    assert "3.11 is needed" in refused.stderr
    assert "PYTHON=" in refused.stderr
    assert not (project.folder / ".venv").exists()


def test_a_missing_python_is_named(project: Project) -> None:
    refused = project.set_up(PYTHON="python3.99")
    assert refused.returncode == 1
    assert "There is no python3.99" in refused.stderr


def test_a_python_without_venv_leaves_nothing_half_made(project: Project) -> None:
    refused = project.set_up(PRETEND_NO_VENV="1")
    assert refused.returncode == 1
    assert "apt-get install python3-venv" in refused.stderr
    assert not (project.folder / ".venv").exists()


def test_no_script_names_a_folder_of_some_machine() -> None:
    for script in SCRIPTS:
        absolute = re.findall(r"""(?<![\w."'}:/!-])/\w[\w./-]*""", script.read_text())
        assert all(path.startswith(("/path/to/", "/dev/null")) for path in absolute), absolute


def test_what_is_pinned_fits_what_is_needed() -> None:
    import tomllib

    from packaging.requirements import Requirement

    pins = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if line and not line.startswith("#")]
    pinned = {name.lower(): version for name, version in (pin.split("==") for pin in pins)}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needed = [*project["dependencies"], *(r for extra in project["optional-dependencies"].values() for r in extra)]
    for requirement in map(Requirement, needed):
        if requirement.name != project["name"]:
            assert requirement.specifier.contains(pinned[requirement.name.lower()]), requirement
