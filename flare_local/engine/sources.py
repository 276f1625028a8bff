"""From what the user calls a model to a folder on this disk: hub name, local folder, GGUF file."""

import json
from dataclasses import dataclass
from pathlib import Path

from flare_local.errors import ModelError

# What a model needs, from the top level of a hub repository. Weights in pickle files come only when asked for.
HUB_FILES = ["*.json", "*.safetensors", "*.model", "*.txt", "*.jinja", "*.tiktoken"]
SAFETENSORS = ("model.safetensors.index.json", "model.safetensors")
PICKLES = ("pytorch_model.bin.index.json", "pytorch_model.bin")


@dataclass(frozen=True)
class Source:
    """A model on disk."""

    name: str  # as the user wrote it
    folder: Path  # config, tokenizer and weights
    weights: tuple[Path, ...]  # every file of the weights
    is_pickle: bool  # loading runs code that the files contain


def find_source(
    name: str, *, revision: str | None = None, allow_pickle: bool = False, trust_remote_code: bool = False
) -> Source:
    """Finds, fetches or converts the model called `name`.

    A hub model that is already on this machine is used as it is, without asking the hub. Raises `ModelError`.
    """
    if not name.strip():
        raise ModelError("The model's name is empty.", "Give a Hugging Face name, a folder or a GGUF file.")
    path = Path(name).expanduser()
    if path.is_file():
        return _from_file(name, path, allow_pickle)
    if path.is_dir():
        return _from_folder(name, path, allow_pickle)
    if _looks_like_path(name):
        raise ModelError(
            f"There is no model at {name}.", "Give an existing folder, a GGUF file or a Hugging Face name."
        )
    return _source(name, _from_hub(name, revision, allow_pickle, trust_remote_code), allow_pickle)


def _from_file(name: str, path: Path, allow_pickle: bool) -> Source:
    from flare_local.engine.gguf import converted_folder, is_gguf

    if is_gguf(path):
        return _source(name, converted_folder(path), allow_pickle)
    if path.suffix in {".safetensors", ".bin", ".pt", ".pth"}:
        raise ModelError(f"{path} is one file of a model.", f"Give the folder that holds it: {path.parent}.")
    raise ModelError(f"{path} is not a GGUF file (it does not begin with GGUF).", "Give a GGUF file or a model folder.")


def _from_folder(name: str, folder: Path, allow_pickle: bool) -> Source:
    if not (folder / "config.json").is_file():
        ggufs = sorted(folder.glob("*.gguf"))
        if len(ggufs) == 1:
            return _from_file(name, ggufs[0], allow_pickle)
        if ggufs:
            names = ", ".join(file.name for file in ggufs)
            raise ModelError(f"{folder} holds {len(ggufs)} GGUF files ({names}).", "Give the path of one of them.")
        if (folder / "adapter_config.json").is_file():
            raise ModelError(f"{folder} is an adapter, not a model.", "Merge it into its base model and save that.")
        raise ModelError(f"{folder} holds no model: config.json is missing.", "Give a folder made by save_pretrained.")
    return _source(name, folder, allow_pickle)


def _source(name: str, folder: Path, allow_pickle: bool) -> Source:
    weights = _listed(folder, SAFETENSORS)
    if weights:
        return Source(name, folder, weights, is_pickle=False)
    pickles = _listed(folder, PICKLES)
    if pickles and allow_pickle:
        return Source(name, folder, pickles, is_pickle=True)
    if pickles:
        raise ModelError(
            f"The weights of {name} are a pickle ({pickles[0].name}), which can run any code when it is read.",
            "Convert them to safetensors, or pass --allow-pickle if you trust whoever made them.",
        )
    raise ModelError(
        f"{folder} holds no weights: neither {SAFETENSORS[1]} nor {SAFETENSORS[0]} is there.",
        "Fetch the model again, or save it with save_pretrained.",
    )


def _listed(folder: Path, names: tuple[str, str]) -> tuple[Path, ...]:
    """The files of the weights: those that the index lists, or the single file; nothing if neither is there."""
    index, single = folder / names[0], folder / names[1]
    if not index.is_file():
        return (single,) if single.is_file() else ()
    try:
        shards = sorted(set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()))
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        raise ModelError(f"{index} is broken ({error}).", "Fetch the model again.") from error
    absent = [shard for shard in shards if not (folder / shard).is_file()]
    if absent:
        raise ModelError(
            f"{folder} lacks {len(absent)} of {len(shards)} weight files ({absent[0]}).", "Fetch the model again."
        )
    return tuple(folder / shard for shard in shards)


def _looks_like_path(name: str) -> bool:
    return name.startswith(("/", "./", "../", "~", "\\")) or name.endswith(".gguf") or name.count("/") > 1


def _from_hub(name: str, revision: str | None, allow_pickle: bool, trust_remote_code: bool) -> Path:
    """The snapshot folder of a hub repository, from this machine's hub cache if it is complete there."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    try:
        folder = Path(snapshot_download(name, revision=revision, local_files_only=True))
        if (folder / "config.json").is_file() and _is_complete(folder, allow_pickle):
            return folder
    except HFValidationError as error:
        raise ModelError(
            f"There is no folder {name}, and it cannot be a Hugging Face name either.",
            "Give a folder, a GGUF file or a name such as Qwen/Qwen2.5-0.5B.",
        ) from error
    except LocalEntryNotFoundError:
        pass
    wanted = [*HUB_FILES, *(["*.py"] if trust_remote_code else [])]
    folder = _fetched(name, revision, wanted)
    if allow_pickle and not _listed(folder, SAFETENSORS):
        folder = _fetched(name, revision, [*wanted, "pytorch_model*.bin"])
    if not (folder / "config.json").is_file():
        raise ModelError(
            f"{name} on the hub is not a Transformers model: it has no config.json.",
            "For GGUF models, download one file and give its path.",
        )
    return folder


def _is_complete(folder: Path, allow_pickle: bool) -> bool:
    try:
        return bool(_listed(folder, SAFETENSORS) or (allow_pickle and _listed(folder, PICKLES)))
    except ModelError:
        return False


def _fetched(name: str, revision: str | None, wanted: list[str]) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError, RevisionNotFoundError

    try:
        return Path(snapshot_download(name, revision=revision, allow_patterns=wanted, ignore_patterns=["*/*"]))
    except GatedRepoError as error:
        raise ModelError(
            f"{name} is gated on the hub.", "Ask for access on its page, then log in with `hf auth login`."
        ) from error
    except RevisionNotFoundError as error:
        raise ModelError(f"{name} has no revision {revision}.", "Give a branch, tag or commit of it.") from error
    except RepositoryNotFoundError as error:
        raise ModelError(
            f"There is no folder {name} and no model of this name on the hub (or it is private).",
            "Check the spelling; for a private model log in with `hf auth login`.",
        ) from error
    except Exception as error:  # no network, proxies, timeouts: each HTTP library has its own classes
        raise ModelError(
            f"There is no folder {name}; as a Hugging Face model it is not on this machine, and the hub cannot be "
            "reached.",
            f"Run `hf download {name}` where there is a network, or give a folder or a GGUF file.",
        ) from error
