"""Model folders for the tests of loading: a tiny model with its tokenizer, saved as a user would have it."""

from pathlib import Path
from typing import Any

import torch

from tests.tiny_models import tiny_model, tiny_tokenizer


def save_tiny(folder: Path, arch: str = "llama", kind: str = "bytes") -> Path:
    """Saves a tiny model of type `arch` (fp32 safetensors, config, tokenizer) and returns `folder`."""
    tiny_model(arch, torch.float32, kind=kind).save_pretrained(folder)
    tiny_tokenizer(kind).save_pretrained(folder)
    return folder


def save_config(folder: Path, model_type: str, **options: Any) -> Path:
    """Saves only a config, for models that must be refused before their weights are read."""
    from transformers import AutoConfig

    AutoConfig.for_model(model_type, **options).save_pretrained(folder)
    (folder / "model.safetensors").write_bytes(b"")
    return folder
