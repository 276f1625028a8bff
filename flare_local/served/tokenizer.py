"""The tokenizer of a model that is served elsewhere, from a folder or the hub: without weights, and none are needed."""

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from flare_local.engine.eos import eos_ids
from flare_local.engine.quiet import quiet_transformers
from flare_local.engine.text import TextCodec
from flare_local.errors import ModelError

# What a tokenizer needs, and what says how long a context is and which tokens end an answer.
PATTERNS = ("*.json", "*.model", "*.txt", "*.jinja", "*.tiktoken")
WEIGHTS = ("*.safetensors.index.json", "*.bin.index.json")


@dataclass(frozen=True)
class LocalTokenizer:
    """What this side knows of a served model."""

    codec: TextCodec
    context_length: int | None  # tokens; None where no file says it
    eos_ids: frozenset[int]
    content: str  # sha256 of its files


def load_tokenizer(
    name: str, *, revision: str | None = None, context: int | None = None, trust_remote_code: bool = False
) -> LocalTokenizer:
    """Loads the tokenizer of the model called `name`: a folder with its files, a GGUF file, or a hub name.

    `context`: a shorter context than the model's. Raises `ModelError`.
    """
    import transformers

    folder = _folder(name, revision, trust_remote_code)
    try:
        with quiet_transformers():
            tokenizer = transformers.AutoTokenizer.from_pretrained(folder, trust_remote_code=trust_remote_code)
    except Exception as error:  # absent files end in many kinds of errors, by class
        reason = " ".join(str(error).split())[:300]
        raise ModelError(
            f"{name}: no tokenizer can be read in {folder}: {reason}", "Give the model's folder."
        ) from None
    holders = [_read(reader, folder) for reader in (transformers.GenerationConfig, transformers.AutoConfig)]
    limits = [_context(holders[1]), int(tokenizer.model_max_length), context]
    known = [limit for limit in limits if limit is not None and limit < 10**9]  # a made-up length is about 1e30
    files = sorted(file for pattern in PATTERNS for file in folder.glob(pattern) if not _lists_weights(file))
    digest = sha256()
    for file in files:
        digest.update(file.name.encode() + b"\0" + sha256(file.read_bytes()).digest())
    return LocalTokenizer(
        TextCodec(tokenizer), min(known, default=None), eos_ids(holders, tokenizer), digest.hexdigest()
    )


def _folder(name: str, revision: str | None, trust_remote_code: bool) -> Path:
    path = Path(name).expanduser()
    if path.is_file():
        from flare_local.engine.sources import find_source

        return find_source(name).folder
    if path.is_dir():
        return path
    from huggingface_hub import snapshot_download

    wanted = [*PATTERNS, *(["*.py"] if trust_remote_code else [])]
    try:
        return Path(snapshot_download(name, revision=revision, allow_patterns=wanted, ignore_patterns=["*/*"]))
    except Exception:  # no such name, no network, a gate: each has a class of its own
        raise ModelError(
            f"There is no folder {name}, and no tokenizer of this name on this machine or the hub.",
            "Give --model the folder (or hub name) of the served model; only its tokenizer is read.",
        ) from None


def _read(reader: Any, folder: Path) -> Any:
    """A config, or None where it is not there or not understood: then others say what it would."""
    try:
        with quiet_transformers():
            return reader.from_pretrained(folder)
    except (
        Exception
    ):  # absent, broken or of code not to be run, each a class of its own; the server names its limits too
        return None


def _context(config: Any) -> int | None:
    length = None if config is None else getattr(config.get_text_config(), "max_position_embeddings", None)
    return length if isinstance(length, int) else None


def _lists_weights(file: Path) -> bool:
    return any(file.match(pattern) for pattern in WEIGHTS)
