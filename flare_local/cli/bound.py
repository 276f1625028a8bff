"""The settings that a run is bound to: every option that can change an answer, files by their content."""

from dataclasses import asdict
from hashlib import sha256
from typing import TYPE_CHECKING

from flare_local.cli.opening import Task
from flare_local.cli.sources import Options
from flare_local.trace.versions import versions

if TYPE_CHECKING:
    from flare_local.engine.engine import Engine
    from flare_local.retrieval.index import Index
    from flare_local.served.model import ServedModel

# Options that change how fast an answer comes and how much memory it takes, but not the answer; and those that name
# files whose content is bound instead. An option that is not listed here is bound.
FREE = {"device", "device_map", "offload_folder", "kv_memory", "reuse", "max_forward_tokens", "kernels"}
FREE |= {"trust_remote_code", "allow_pickle", "search_ahead", "warm", "lm", "lm_requests", "lm_timeout"}
BY_CONTENT = {"model", "question_model", "revision", "dtype", "index", "exemplars"}


def settings_asked(task: Task, options: Options) -> dict[str, object]:
    """What is known before model and index are opened."""
    chosen = {**asdict(options.model), **asdict(options.retrieval), **asdict(options.method)}
    bound = {**chosen, **task.rules.as_dict()}
    return {
        **{name: value for name, value in bound.items() if name not in FREE | BY_CONTENT},
        "exemplars_sha256": sha256(repr(task.exemplars).encode()).hexdigest(),
        **{f"version of {package}": version for package, version in versions().items()},
    }


def settings_opened(
    engine: "Engine | ServedModel", question_engine: "Engine | None", index: "Index | None"
) -> dict[str, object]:
    """What only the opened models and index can tell."""
    return {
        "model_fingerprint": engine.model.fingerprint,
        "dtype": str(engine.model.dtype).removeprefix("torch."),
        "question_model_fingerprint": None if question_engine is None else question_engine.model.fingerprint,
        "index_hash": None if index is None else index.manifest_hash,
    }
