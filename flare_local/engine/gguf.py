"""GGUF files: converted once to a folder of safetensors in the cache folder, then loaded like any other model."""

import errno
import logging
import shutil
import tempfile
from functools import partial
from pathlib import Path

from flare_local.engine.cache_folder import cache_folder
from flare_local.engine.content_hash import content_hash
from flare_local.errors import DiskFull, ModelError

log = logging.getLogger(__name__)


def is_gguf(path: Path) -> bool:
    """Whether the file begins with GGUF's magic number."""
    try:
        with path.open("rb") as file:
            return file.read(4) == b"GGUF"
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror}.") from error


def conversion_target(path: Path) -> Path:
    """Where `converted_folder` puts its result, whether it is there yet or not."""
    return cache_folder() / "gguf" / content_hash(path)


def converted_folder(path: Path) -> Path:
    """The folder of safetensors (bfloat16) made from the GGUF file, keyed by the sha256 of its content.

    The conversion reads the quantised weights back to full numbers: it runs once a file and takes 20 to 80 seconds
    for models up to 1.5B. Written beside and renamed, so that an interrupted one leaves nothing that looks complete.
    Raises `ModelError`, `DiskFull`.
    """
    target = conversion_target(path)
    if target.is_dir():
        return target
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        beside = Path(tempfile.mkdtemp(prefix="unfinished-", dir=target.parent))
    except OSError as error:
        raise DiskFull(
            f"The cache folder {target.parent} cannot be written: {error.strerror}.", "Set FLARE_CACHE to another."
        ) from error
    log.info("Converting %s to safetensors in %s (once)", path, target)
    try:
        _convert(path, beside)
        beside.chmod(0o755)
        _publish(beside, target)
    except OSError as error:
        if error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EROFS}:
            raise DiskFull(
                f"{path} cannot be converted into {target.parent}: {error.strerror}.", "Set FLARE_CACHE to another."
            ) from error
        raise
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return target


def _convert(path: Path, folder: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig, modeling_gguf_pytorch_utils

    from flare_local.engine.quiet import quiet_transformers

    bar = modeling_gguf_pytorch_utils.tqdm  # heeds no setting of Transformers'; None: on a terminal only
    modeling_gguf_pytorch_utils.tqdm = partial(bar, disable=None)
    try:
        with quiet_transformers():
            tokenizer = AutoTokenizer.from_pretrained(str(path.parent), gguf_file=path.name)
            model = AutoModelForCausalLM.from_pretrained(
                str(path.parent),
                gguf_file=path.name,
                dtype=torch.bfloat16,
                quantization_config=GgufConfig(dequantize=True),
            )
    except ImportError as error:
        raise ModelError(f"Reading GGUF needs a package that is absent: {error}.", "Run `pip install gguf`.") from error
    except (OSError, MemoryError):
        raise
    except Exception as error:  # a broken file ends in whatever its reader trips over: struct, NumPy, shapes, keys
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ModelError(
            f"{path} cannot be converted: {reason}",
            "The file is broken, or Transformers does not know its architecture.",
        ) from error
    model.config.quantization_config = None
    with quiet_transformers():
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)


def _publish(beside: Path, target: Path) -> None:
    try:
        beside.rename(target)
    except OSError:
        if not target.is_dir():  # else another process has converted the same file meanwhile
            raise
