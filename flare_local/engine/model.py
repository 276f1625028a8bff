"""Loads a Hugging Face causal language model as it is, with all that the engine must know about it."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import transformers
from safetensors import SafetensorError, safe_open

from flare_local.engine.content_hash import content_hash
from flare_local.engine.eos import eos_ids
from flare_local.engine.memory import check_weights_fit, free_bytes
from flare_local.engine.quiet import quiet_transformers
from flare_local.engine.refusals import refuse_class, refuse_config, refuse_context
from flare_local.engine.rope import context_length, fix_frequencies
from flare_local.engine.sources import Source, find_source
from flare_local.engine.text import TextCodec
from flare_local.errors import ModelError, OutOfMemory, UsageError
from flare_local.spans import Kind, span, spanned

DTYPES = {
    "float32": torch.float32,
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
    "float64": torch.float64,
}
DEVICE_MAPS = ("auto", "balanced", "balanced_low_0", "sequential")  # those that Accelerate makes itself
DEVICES = ("auto", "cpu", "cuda", "mps")


@dataclass(frozen=True)
class LoadedModel:
    """A model in memory. The module is Hugging Face's own, in eval mode, without gradients."""

    module: Any  # transformers.PreTrainedModel
    codec: TextCodec
    name: str  # as the user wrote it
    fingerprint: str  # 32 hexadecimal digits: weights, config, tokenizer, dtype, versions
    dtype: torch.dtype
    device: torch.device  # where token ids go in
    context_length: int  # tokens of prompt and output together
    eos_ids: frozenset[int]  # all that end an answer
    vocab_size: int  # width of the logits


@spanned(Kind.MODEL, "the rest")
def load_model(
    name: str,
    *,
    dtype: str = "auto",
    device: str = "auto",
    device_map: str | Mapping[str, str | int] | None = None,
    revision: str | None = None,
    trust_remote_code: bool = False,
    allow_pickle: bool = False,
    offload_folder: str | None = None,
    context: int | None = None,
) -> LoadedModel:
    """Loads the model called `name`: a Hugging Face name, a local folder or a GGUF file.

    dtype "auto": on a GPU bfloat16 or float16 where the weights are stored so, else float32; float32 on CPU and mps,
    the dtype in which answers are exact. device "auto": cuda, mps, cpu, the first that is there. `device_map` and
    `offload_folder`: Accelerate's; then `device` is left out. `context` asks for a shorter context, or for a longrope
    model's long one.
    Raises `UsageError` (wrong option), `ModelError` (absent, broken), `ModelRefused`, `OutOfMemory`, `DiskFull`.
    """
    place = torch_device(device)
    _check_dtype(dtype, place)
    where: dict[str, Any] = {"device_map": {"": place} if device_map is None else read_device_map(device_map)}
    if offload_folder is not None:
        where["offload_folder"] = offload_folder
    with span(Kind.MODEL, "find it"):
        source = find_source(name, revision=revision, allow_pickle=allow_pickle, trust_remote_code=trust_remote_code)
    with span(Kind.MODEL, "config"):
        config = _config(source, trust_remote_code)
    refuse_config(config, name)
    refuse_context(config, name, context)
    kind = _chosen_dtype(dtype, config, place)
    sizes = None if source.is_pickle else sum(_elements(file) for file in source.weights)
    with span(Kind.MODEL, "tokenizer"):
        codec = TextCodec(_tokenizer(source, trust_remote_code))
    length = context_length(config, context, int(codec.tokenizer.model_max_length))
    if sizes is not None and device_map is None:
        check_weights_fit(name, sizes * kind.itemsize, free_bytes(place))
    with span(Kind.MODEL, "weights"):
        module = _module(source, config, kind, trust_remote_code, where)
    refuse_class(type(module), name, config.model_type)
    if kind is torch.float64:
        _run_experts_one_by_one(module)
    fix_frequencies(module, length)
    return LoadedModel(
        module=module.eval().requires_grad_(False),
        codec=codec,
        name=name,
        fingerprint=_fingerprint(source, kind),
        dtype=kind,
        device=_input_device(module, place),
        context_length=length,
        eos_ids=eos_ids([module.generation_config, module.config, module.config.get_text_config()], codec.tokenizer),
        vocab_size=int(config.get_text_config().vocab_size),
    )


def load_codec(
    name: str, *, revision: str | None = None, trust_remote_code: bool = False, allow_pickle: bool = False
) -> TextCodec:
    """The tokenizer of the model called `name`, without its weights in memory. Raises `ModelError`."""
    source = find_source(name, revision=revision, allow_pickle=allow_pickle, trust_remote_code=trust_remote_code)
    return TextCodec(_tokenizer(source, trust_remote_code))


def read_context(
    name: str,
    codec: TextCodec,
    *,
    context: int | None = None,
    revision: str | None = None,
    trust_remote_code: bool = False,
    allow_pickle: bool = False,
) -> int:
    """Tokens of prompt and output together of the model called `name`, without its weights. Raises `ModelError`."""
    source = find_source(name, revision=revision, allow_pickle=allow_pickle, trust_remote_code=trust_remote_code)
    return context_length(_config(source, trust_remote_code), context, int(codec.tokenizer.model_max_length))


def torch_device(device: str) -> torch.device:
    """The device called `device` (auto, cpu, cuda, cuda:1, mps). Raises `UsageError` if it is not on this machine."""
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    kind, _, number = device.partition(":")
    if kind not in DEVICES or (number and (kind != "cuda" or not number.isdigit())):
        raise UsageError(f"--device {device!r} is not known.", f"Choose {', '.join(DEVICES)} (or cuda:1).")
    if kind == "cuda" and not torch.cuda.is_available():
        built = "no GPU is visible" if torch.version.cuda else "this PyTorch was built without CUDA"
        raise UsageError(f"--device {device} is not there: {built}.", "Use --device cpu.")
    if kind == "cuda" and int(number or 0) >= torch.cuda.device_count():
        raise UsageError(f"--device {device} is not there: {torch.cuda.device_count()} GPUs are visible.")
    if kind == "mps" and not torch.backends.mps.is_available():
        raise UsageError("--device mps is not there: it needs a Mac with Apple silicon.", "Use --device cpu.")
    return torch.device(device)


def read_device_map(device_map: str | Mapping[str, str | int]) -> Any:
    """A device map as Accelerate takes it: one of its own, a mapping from module to device, or a JSON file of one."""
    if not isinstance(device_map, str):
        return dict(device_map)
    if device_map in DEVICE_MAPS:
        return device_map
    try:
        read = json.loads(Path(device_map).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(
            f"--device-map {device_map!r} is neither known nor a readable JSON file.",
            f'Choose {", ".join(DEVICE_MAPS)}, or a file such as {{"model.layers.0": "cpu", "lm_head": "disk"}}.',
        ) from error
    if not isinstance(read, dict):
        raise UsageError(f"--device-map {device_map} holds no object.", 'Write {"module name": "device", ...}.')
    return read


def _check_dtype(dtype: str, device: torch.device) -> None:
    if dtype != "auto" and dtype not in DTYPES:
        raise UsageError(f"--dtype {dtype!r} is not known.", f"Choose auto, {', '.join(DTYPES)}.")
    if dtype == "float64" and device.type == "mps":
        raise UsageError("--dtype float64 does not exist on mps.", "Use --device cpu.")
    if dtype == "bfloat16" and device.type == "cuda" and not torch.cuda.is_bf16_supported():
        raise UsageError("--dtype bfloat16 is not known to this GPU.", "Use --dtype float16 or float32.")


def _chosen_dtype(dtype: str, config: Any, device: torch.device) -> torch.dtype:
    if dtype != "auto":
        return DTYPES[dtype]
    stored = getattr(config, "dtype", None) or getattr(config.get_text_config(), "dtype", None)
    if device.type == "cuda" and stored in (torch.bfloat16, torch.float16):
        return torch.bfloat16 if stored is torch.bfloat16 and torch.cuda.is_bf16_supported() else torch.float16
    return torch.float32


def _config(source: Source, trust_remote_code: bool) -> Any:
    try:
        with quiet_transformers():
            return transformers.AutoConfig.from_pretrained(source.folder, trust_remote_code=trust_remote_code)
    except Exception as error:  # a config is data of strangers: its classes raise many kinds
        _raise_unreadable(source, "config.json", error)


def _tokenizer(source: Source, trust_remote_code: bool) -> Any:
    try:
        with quiet_transformers():
            tokenizer = transformers.AutoTokenizer.from_pretrained(source.folder, trust_remote_code=trust_remote_code)
    except Exception as error:  # absent files end in OSError, ValueError, TypeError or ImportError, by class
        _raise_unreadable(source, "the tokenizer", error)
    if not len(tokenizer):
        raise ModelError(f"The tokenizer of {source.name} has no tokens.", "Fetch the model again.")
    return tokenizer


def _elements(file: Path) -> int:
    """Number of weights in a safetensors file; reading its header also shows whether it is whole."""
    try:
        with safe_open(file, framework="pt") as tensors:
            shapes = (tensors.get_slice(key).get_shape() for key in tensors.keys())  # noqa: SIM118 (no mapping)
            return sum(torch.Size(shape).numel() for shape in shapes)
    except (SafetensorError, OSError) as error:
        raise ModelError(f"{file} is broken ({error}).", "Fetch the model again.") from error


def _module(source: Source, config: Any, dtype: torch.dtype, trust_remote_code: bool, where: dict[str, Any]) -> Any:
    try:
        with quiet_transformers():
            module, report = transformers.AutoModelForCausalLM.from_pretrained(
                source.folder,
                config=config,
                dtype=dtype,
                trust_remote_code=trust_remote_code,
                use_safetensors=not source.is_pickle,
                output_loading_info=True,
                ignore_mismatched_sizes=True,  # they are refused below, by name
                **where,
            )
    except torch.OutOfMemoryError as error:
        raise OutOfMemory(
            f"{source.name} does not fit on the GPU.", "Use --device-map auto or --device cpu."
        ) from error
    except Exception as error:  # classes differ with what is wrong: shapes, keys, packages, device maps
        _raise_unreadable(source, "the weights", error)
    if report["mismatched_keys"]:
        name, stored, expected = min(report["mismatched_keys"])
        raise ModelError(
            f"The weights of {source.name} do not fit its config.json: {name} is {list(stored)} in the file, "
            f"{list(expected)} by the config.",
            "Fetch the model again.",
        )
    if report["missing_keys"]:
        absent = sorted(report["missing_keys"])
        raise ModelError(
            f"The weights of {source.name} lack {len(absent)} tensors of its architecture ({absent[0]}).",
            "Fetch the model again.",
        )
    return module


def _raise_unreadable(source: Source, part: str, error: Exception) -> Any:
    text = " ".join(str(error).split()) or type(error).__name__
    if "trust_remote_code" in text:
        raise ModelError(
            f"{source.name} runs code of its own ({part}).", "Pass --trust-remote-code if you trust its author."
        ) from error
    if isinstance(error, ImportError):
        raise ModelError(f"{source.name}: {part} needs a package that is absent: {text[:200]}") from error
    raise ModelError(
        f"{source.name}: {part} in {source.folder} cannot be read: {text[:300]}", "Fetch the model again."
    ) from error


def _run_experts_one_by_one(module: Any) -> None:
    # NOTE: grouped matrix products know no float64; models without experts refuse the setting.
    try:
        module.set_experts_implementation("eager")
    except ValueError:
        return


def _input_device(module: Any, place: torch.device) -> torch.device:
    """Where token ids go in: for a model in parts, where its embedding runs (its weights may lie on disk)."""
    embedding = module.get_input_embeddings()
    hook = getattr(embedding, "_hf_hook", None)
    runs_on = getattr(hook, "execution_device", None)
    device = torch.device(runs_on if runs_on is not None else embedding.weight.device)
    return place if device.type == "meta" else device


def _fingerprint(source: Source, dtype: torch.dtype) -> str:
    """What results depend on: content of weights, config, tokenizer and code, dtype, versions."""
    beside = sorted(
        file for pattern in ("*.json", "*.py", "*.jinja", "*.model") for file in source.folder.glob(pattern)
    )
    files = {file.name: content_hash(file) for file in [*source.weights, *beside]}
    state = [files, str(dtype), torch.__version__, transformers.__version__]
    return hashlib.sha256(json.dumps(state, sort_keys=True).encode()).hexdigest()[:32]
