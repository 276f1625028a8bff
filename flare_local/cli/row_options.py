"""The options of one row of an evaluation: those of the command, the task's preset, and what the row sets itself."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from flare_local.cli.sources import OPTIONS, Options
from flare_local.config import MethodOptions
from flare_local.evaluation.row import Row
from flare_local.tasks.presets import PRESETS


def with_preset(options: Options, preset: str) -> Options:
    """The options as `--preset` would have made them, unless another preset was named."""
    if options.method.preset is not None:
        return options
    found: dict[str, object] = {"preset": preset} | {
        name: value
        for name, value in PRESETS[preset].settings(options.method.schedule).items()
        if options.sources[name] == "default"
    }
    return replace(
        options,
        method=replace(options.method, **_of(options.method, found)),
        retrieval=replace(options.retrieval, **_of(options.retrieval, found)),
        sources={**options.sources, **dict.fromkeys(found, f"preset {preset}")},
    )


def of_paper(options: Options) -> Options:
    """The options without what environment and file say of methods: a table of the paper has the paper's settings."""
    kept = MethodOptions(schedule=options.method.schedule)
    sources = {**options.sources, **dict.fromkeys((name for name in OPTIONS if hasattr(kept, name)), "default")}
    return replace(options, method=kept, sources=sources)


def row_options(options: Options, row: Row) -> Options:
    """The options that a row is asked with. Raises `UsageError` where its settings are wrong."""
    chosen = replace(options.method, **_checked({"method": row.method, **row.settings}))
    if chosen.method != "flare_direct" or chosen.query != "explicit":
        chosen = replace(chosen, question_model=None)  # it would have nothing to write
    if chosen.temperature == 0:
        chosen = replace(chosen, seed=0)  # it draws the questions here, and no token
    return replace(options, method=chosen)


def _of(concern: object, values: Mapping[str, object]) -> dict[str, Any]:
    """Those of `values` that are options of this concern."""
    return {name: value for name, value in values.items() if hasattr(concern, name)}


def _checked(settings: Mapping[str, object]) -> dict[str, Any]:
    return {name: OPTIONS[name].check(value, OPTIONS[name].flag) for name, value in settings.items()}
