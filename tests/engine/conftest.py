"""Tests of the engine never touch the user's cache folder, nor the hub."""

from pathlib import Path

import huggingface_hub.constants
import pytest


@pytest.fixture(scope="session", autouse=True)
def caches(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folders of their own for this program's cache and the hub's; no network."""
    folder = tmp_path_factory.mktemp("caches")
    patch = pytest.MonkeyPatch()
    patch.setenv("FLARE_CACHE", str(folder / "flare"))
    patch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(folder / "hub"))
    patch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    yield folder
    patch.undo()
