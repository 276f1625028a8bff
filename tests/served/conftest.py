"""The folder of a tiny model's tokenizer, as a user would have it: no weights."""

from pathlib import Path

import pytest

from tests.tiny_models import tiny_config, tiny_tokenizer


@pytest.fixture(scope="session")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tokenizer")
    tiny_tokenizer().save_pretrained(folder)
    tiny_config("llama", tiny_tokenizer()).save_pretrained(folder)
    return folder
