"""Before a model is used the first time: does the engine compute what the model itself computes?

Random tokens go through the engine in chunks, as two branches of one prefix, packed together, and through the model in
one plain forward each. The same with a shrunken twin of it in float64, whose window the tokens leave.
"""

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import flare_kernels
import torch

import flare_local
from flare_local.engine.cache_folder import cache_folder, recall, remember
from flare_local.engine.forward import PackedForward
from flare_local.engine.kernels import Kernels
from flare_local.engine.mask_probe import check_masks
from flare_local.engine.model import LoadedModel
from flare_local.engine.plan import LONG_RUN, Stretch
from flare_local.engine.pool import KVPool
from flare_local.engine.slots import joined
from flare_local.engine.twin import make_twin
from flare_local.errors import FlareError, ModelRefused, OutOfMemory

PROBE_TOKENS = 24  # three of the twin's windows
# Modules of the engine that compute, or check what is computed: a change of one asks for a new check.
COMPUTING = ["attention", "plan", "forward", "pool", "self_check", "twin", "mask_probe"]
COMPUTING += ["kernels", "packing", "padded_forward", "table_attention"]


@dataclass(frozen=True)
class Trial:
    """How many tokens go through in which forwards."""

    prefix: int  # tokens that both branches share
    chunk: int  # tokens of the prefix's first forward; the second takes the rest
    branches: tuple[tuple[int, int], ...]  # new tokens of both branches, packed forward by packed forward

    @property
    def total(self) -> int:
        """Different tokens, the prefix counted once."""
        return self.prefix + sum(first + second for first, second in self.branches)


# The twin costs nothing: its prefix is long enough to be read as one long run, everything leaves its window. The model
# itself shows that its own sizes, dtype and device compute the same; few tokens, as each forward reads all weights.
TWIN_TRIAL = Trial(prefix=LONG_RUN + 4, chunk=20, branches=((6, 4), (1, 7), (4, 1)))
MODEL_TRIAL = Trial(prefix=6, chunk=4, branches=((1, 3), (3, 1)))

# Largest distance of two logits, as a share of their spread (standard deviation over the vocabulary).
# Measured: 1e-15 to 8e-7 for twins (the latter where only eager attention is the reference, whose softmax is fp32),
# 2e-5 (135M) and 2e-4 (0.5B, random tokens make extreme activations) in fp32. Wrong attention gives 1e-2 and more.
FLOAT64_SHARE = 1e-5
FLOAT32_SHARE = 5e-3
# In half precision logits differ whatever one does: our mean distance may be 3 times that of two plain computations,
# and this share where those agree by chance (bfloat16 keeps 8 bits: 0.4 % of a logit).
HALF_FACTOR = 3.0
HALF_SHARE = 0.05


@dataclass(frozen=True)
class Checked:
    """The figures of a passed check: distances as shares of the logits' spread."""

    distance: float  # of the model: largest, or in half precision the mean
    allowed: float
    twin_distance: float | None  # None: the config could not be shrunken


def check_model(model: LoadedModel, kernels: Kernels = "auto", *, fresh: bool = False) -> Checked:
    """Passes silently or raises `ModelRefused` with the figure. A pass is kept in the cache folder for this content,
    dtype, device type, `kernels` and these versions, unless `fresh` asks to run again. Takes a few short forwards.

    Leaves the module with one of Transformers' own attentions.
    """
    runs = f"{kernels} {flare_kernels.is_installed()} {flare_kernels.is_interpreted()}"
    key = f"{model.fingerprint} {model.device.type} {runs} {_engine_hash()}"
    known = cache_folder() / "checks" / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.json"
    if not fresh and (found := recall(known)) is not None:
        try:
            return Checked(**json.loads(found))
        except (ValueError, TypeError):
            pass  # written by another version: check again
    with _own_attention(model):
        reference = check_masks(model.module, model.device, model.name, 4)
        twin_distance = _check_twin(model)
        distance, allowed = _check_itself(model, reference, kernels)
    checked = Checked(distance, allowed, twin_distance)
    remember(known, json.dumps(asdict(checked)))
    return checked


@contextmanager
def _own_attention(model: LoadedModel) -> Iterator[None]:
    """Sets the module's attention back afterwards; what its code raises becomes a refusal."""
    module, name = model.module, model.name
    before = module.config._attn_implementation
    try:
        yield
    except torch.OutOfMemoryError as error:
        raise OutOfMemory(f"{name} fits, but its first forward does not.", "Use --device-map auto.") from error
    except FlareError:
        raise
    except Exception as error:  # the model's own code, which was written for other callers
        reason = " ".join(str(error).split())[:200]
        raise ModelRefused(
            f"{name} ({module.config.model_type}) cannot run here: its forward fails "
            f"({type(error).__name__}: {reason}).",
            f"Use another model{_other_kernels(model)}.",
        ) from error
    finally:
        module.set_attn_implementation(before)


def _check_twin(model: LoadedModel) -> float | None:
    twin = make_twin(model.module)
    if twin is None:
        return None
    host = torch.device("cpu")
    reference = check_masks(twin, host, model.name, PROBE_TOKENS)
    rows = _random_rows(twin, TWIN_TRIAL)
    plain = _plain_logits(twin, host, rows, TWIN_TRIAL, reference)
    distance = _largest(_engine_logits(twin, host, rows, TWIN_TRIAL), plain)
    _judge(model, distance, FLOAT64_SHARE, "a small copy of it with a short window")
    return distance


def _check_itself(model: LoadedModel, reference: str, kernels: Kernels) -> tuple[float, float]:
    """Distance of the engine's logits from the model's own, and what is allowed."""
    module, device = model.module, model.device
    rows = _random_rows(module, MODEL_TRIAL)
    ours = _engine_logits(module, device, rows, MODEL_TRIAL, kernels)
    plain = _plain_logits(module, device, rows, MODEL_TRIAL, reference)
    if model.dtype in (torch.float32, torch.float64):
        distance = _largest(ours, plain)
        allowed = FLOAT64_SHARE if model.dtype is torch.float64 else FLOAT32_SHARE
    else:
        distance = _mean(ours, plain)
        shorter = _run(module, device, rows[0][: MODEL_TRIAL.prefix])  # the same rows, another shape: other rounding
        eager = _plain_logits(module, device, rows, MODEL_TRIAL, "eager")
        noise = max(_mean(eager, plain), _mean(shorter, plain[: MODEL_TRIAL.prefix]))
        allowed = max(HALF_FACTOR * noise, HALF_SHARE)
    _judge(model, distance, allowed, "it")
    return distance, allowed


def _judge(model: LoadedModel, distance: float, allowed: float, what: str) -> None:
    if not distance <= allowed:  # NaN is no pass
        raise ModelRefused(
            f"{model.name} ({model.module.config.model_type}) cannot run here: for {what}, this engine's "
            f"logits are {distance:.2g} of their spread away from the model's own; {allowed:.2g} is allowed.",
            f"Use another model or --dtype float32{_other_kernels(model)}.",
        )


def _other_kernels(model: LoadedModel) -> str:
    """On a GPU the fault may be that of the kernels."""
    return ", or try --kernels torch" if model.device.type == "cuda" else ""


def _random_rows(module: Any, trial: Trial) -> tuple[list[int], list[int]]:
    """Two sequences that share their first `trial.prefix` tokens."""
    generator = torch.Generator().manual_seed(0)
    vocabulary = int(module.config.get_text_config().vocab_size)
    tokens = torch.randint(vocabulary, (trial.total,), generator=generator).tolist()
    prefix, rest = tokens[: trial.prefix], tokens[trial.prefix :]
    first = sum(step[0] for step in trial.branches)
    return prefix + rest[:first], prefix + rest[first:]


def _engine_logits(
    module: Any,
    device: torch.device,
    rows: tuple[list[int], list[int]],
    trial: Trial,
    kernels: Kernels = "torch",
) -> torch.Tensor:
    """`[tokens, vocabulary]` in fp32 or wider: all of the first sequence, then the second's own tokens."""
    forward = PackedForward(module, device, kernels)
    pool = KVPool(forward.probe(), trial.prefix + 2 * trial.total, poison=True)
    # The prefix lies in one run; all that follows is scattered over the rest of the pool.
    order = torch.randperm(2 * trial.total, generator=torch.Generator().manual_seed(1)).tolist()
    free = [*range(trial.prefix), *(trial.prefix + slot for slot in order)]
    slots: tuple[list[int], list[int]] = ([], [])
    logits: tuple[list[torch.Tensor], list[torch.Tensor]] = ([], [])

    def stretch(branch: int, length: int) -> Stretch:
        done = len(slots[branch])
        new, free[:length] = free[:length], []
        context = joined([(slot, 1) for slot in slots[branch]])
        slots[branch].extend(new)
        own = joined([(slot, 1) for slot in new])
        return Stretch(tokens=rows[branch][done : done + length], context=context, slots=own, read=range(length))

    for length in (trial.chunk, trial.prefix - trial.chunk):
        logits[0].append(forward([stretch(0, length)], pool))
    slots[1].extend(slots[0])
    for lengths in trial.branches:
        both = forward([stretch(branch, length) for branch, length in enumerate(lengths)], pool)
        logits[0].append(both[: lengths[0]])
        logits[1].append(both[lengths[0] :])
    return _wide(torch.cat([*logits[0], *logits[1]]))


def _plain_logits(
    module: Any, device: torch.device, rows: tuple[list[int], list[int]], trial: Trial, attention: str
) -> torch.Tensor:
    """The same rows from the unmodified model, one forward a sequence, without any cache."""
    try:
        module.set_attn_implementation(attention)
    except ValueError:  # a class without sdpa
        module.set_attn_implementation("eager")
    return torch.cat([_run(module, device, rows[0]), _run(module, device, rows[1])[trial.prefix :]])


def _run(module: Any, device: torch.device, row: list[int]) -> torch.Tensor:
    ids = torch.tensor([row], device=device)
    with torch.inference_mode():
        logits = module(input_ids=ids, position_ids=torch.arange(len(row), device=device)[None], use_cache=False).logits
    return _wide(logits[0])


def _wide(logits: torch.Tensor) -> torch.Tensor:
    return logits.to(torch.promote_types(logits.dtype, torch.float32))


def _largest(ours: torch.Tensor, plain: torch.Tensor) -> float:
    return float((ours - plain).abs().max() / plain.std(dim=-1).mean())


def _mean(ours: torch.Tensor, plain: torch.Tensor) -> float:
    return float((ours - plain).abs().mean() / plain.std(dim=-1).mean())


def _engine_hash() -> str:
    """A pass belongs to the code that was checked: the version and the files that compute."""
    digest = hashlib.sha256(flare_local.__version__.encode())
    files = [Path(__file__).parent / f"{name}.py" for name in COMPUTING]
    for file in [*files, *sorted(Path(flare_kernels.__path__[0]).glob("*.py"))]:
        digest.update(file.read_bytes())
    return digest.hexdigest()
