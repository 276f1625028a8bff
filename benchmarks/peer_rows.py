"""The rows of `peers`: the engine and each peer, or why one is not there."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from benchmarks.continuous_batching import ContinuousBatching
from benchmarks.hugging_face import HuggingFace, Plain, plain_model
from benchmarks.kept_cache import KeptCache
from benchmarks.measured import OURS
from benchmarks.setting import Setting
from benchmarks.vllm_peer import VLLM, VLLMProcess, context_of
from flare_local.engine.call import LanguageModel

AFRESH, KEPT, LOOKUP = "generate afresh", "kept DynamicCache", "prompt lookup"
BATCHING, BATCHING_STOPPED = "continuous batching", "continuous batching, stopped"
VLLM_64, VLLM_STOPPED = "vLLM, 64 tokens", "vLLM, stopped"
ROWS = {  # as the command line calls them
    "ours": OURS,
    "afresh": AFRESH,
    "kept": KEPT,
    "lookup": LOOKUP,
    "batching": BATCHING,
    "batching_stopped": BATCHING_STOPPED,
    "vllm": VLLM_64,
    "vllm_stopped": VLLM_STOPPED,
}


class Row(Protocol):
    """One line of the table."""

    name: str

    def lm(self, question: str) -> LanguageModel:
        """What answers the question with this id."""
        ...

    def reset(self) -> None:
        """Forgets everything that was kept between calls."""
        ...

    def close(self) -> None:
        """Frees what the row holds."""
        ...


class Ours:
    """The engine as users have it. A new one, with an empty pool, after every `reset`."""

    name = OURS

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.engine = setting.engine()

    def lm(self, question: str) -> LanguageModel:
        return self.engine.question(question)

    def reset(self) -> None:
        self.engine.close()
        self.engine = self.setting.engine()

    def close(self) -> None:
        self.engine.close()


def make_rows(
    wanted: Sequence[str],
    setting: Setting,
    model: str,
    dtype: str,
    vllm_python: Path | None,
    absent: Callable[[str, str], None],
) -> list[Row]:
    """The rows of these names, the engine first; `absent` is told of each that cannot be made, and why.

    `model`: as the user wrote it; `vllm_python`: interpreter of the venv that has vLLM.
    """
    rows: list[Row] = [Ours(setting)]
    plain = Plain(plain_model(model, dtype), setting.model)
    if AFRESH in wanted:
        rows.append(HuggingFace(AFRESH, plain))
    if KEPT in wanted:
        rows.append(KeptCache(KEPT, plain))
    if LOOKUP in wanted:
        rows.append(HuggingFace(LOOKUP, plain, lookup=True))
    for name in (BATCHING, BATCHING_STOPPED):
        if name in wanted:
            rows.append(ContinuousBatching(name, plain, stop_early=name == BATCHING_STOPPED))
    of_vllm = [name for name in (VLLM_64, VLLM_STOPPED) if name in wanted]
    if of_vllm:
        rows += _rows_of_vllm(of_vllm, setting, model, dtype, vllm_python, absent)
    return rows


def _rows_of_vllm(
    names: Sequence[str],
    setting: Setting,
    model: str,
    dtype: str,
    python: Path | None,
    absent: Callable[[str, str], None],
) -> list[Row]:
    try:
        if python is None:
            raise RuntimeError("no --vllm-python")
        process = VLLMProcess.start(python, model, dtype, context_of(setting.model), setting.out / "vllm.log")
    except (OSError, RuntimeError) as error:
        for name in names:
            absent(name, str(error))
        return []
    return [VLLM(name, setting.model, process, stop_early=name == VLLM_STOPPED) for name in names]
