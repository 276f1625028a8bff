"""Fixtures of the command line's tests."""

import os
from pathlib import Path

import pytest

from tests.cli.shell import Shell


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """Command lines in an empty working folder, without FLARE_ variables of the machine."""
    for variable in [name for name in os.environ if name.startswith("FLARE_") and name != "FLARE_CACHE"]:
        monkeypatch.delenv(variable)
    folder = tmp_path / "working"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return Shell(capsys)
