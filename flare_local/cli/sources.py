"""Where options come from: flag > environment > file > preset > default, and which of them each value came from."""

import os
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from flare_local.config import MethodOptions, ModelOptions, OutputOptions, RetrievalOptions
from flare_local.errors import ConfigError, UsageError
from flare_local.option import Option, options_of
from flare_local.tasks.presets import PRESETS

FILE_NAME = "flare-local.toml"
PREFIX = "FLARE_"
# FLARE_ variables that are no options; the last three are secrets, read where they are used.
OTHERS = {"CONFIG", "DEBUG", "CACHE", "JAVA_HOME", "JAVA_MEMORY", "LM_KEY", "INDEX_USER", "INDEX_PASSWORD"}
CONCERNS: tuple[type, ...] = (ModelOptions, RetrievalOptions, MethodOptions, OutputOptions)
OPTIONS: dict[str, Option] = {option.name: option for concern in CONCERNS for option in options_of(concern)}


@dataclass(frozen=True)
class Options:
    """All options of one command, resolved."""

    model: ModelOptions
    retrieval: RetrievalOptions
    method: MethodOptions
    output: OutputOptions
    sources: Mapping[str, str]  # option name -> "flag", "environment FLARE_X", "file PATH", "preset P" or "default"

    def as_dict(self) -> dict[str, Any]:
        """Option name -> value, for JSON and for `config show`."""
        concerns = (self.model, self.retrieval, self.method, self.output)
        return {name: value for concern in concerns for name, value in asdict(concern).items()}


def resolve(
    flags: Mapping[str, str | bool | None],
    config: Path | None = None,
    environment: Mapping[str, str] = os.environ,
) -> Options:
    """The options of a command. A flag that was not given is None; `config` is the file of `--config`.

    Raises `UsageError` for a value that is not allowed, `ConfigError` for an unknown key or a file that cannot be read.
    """
    values: dict[str, Any] = {}
    sources = dict.fromkeys(OPTIONS, "default")

    def take(name: str, value: Any, source: str) -> None:
        values[name] = value
        sources[name] = source

    file = _config_file(config, environment)
    if file is not None:
        for name, value in _read_file(file).items():
            take(name, value, f"file {file}")
    for name, value in _read_environment(environment).items():
        take(name, value, f"environment {PREFIX}{name.upper()}")
    for name, given in flags.items():
        if given is not None:
            option = OPTIONS[name]
            if given == "" and option.optional:  # an unset variable of the shell, most likely
                raise UsageError(f"{option.flag} is empty.", "Give a value, or leave it out.")
            take(name, given if isinstance(given, bool) else option.read(given, option.flag), "flag")
    preset = values.get("preset")
    if preset is not None:
        for name, value in PRESETS[preset].settings(values.get("schedule", OPTIONS["schedule"].default)).items():
            if name not in values:
                take(name, value, f"preset {preset}")

    model, retrieval, method, output = (
        concern(**{option.name: values[option.name] for option in options_of(concern) if option.name in values})
        for concern in CONCERNS
    )
    return Options(model, retrieval, method, output, sources)


def _config_file(named: Path | None, environment: Mapping[str, str]) -> Path | None:
    if named is None and environment.get("FLARE_CONFIG"):
        named = Path(environment["FLARE_CONFIG"])
    if named is not None:
        return named
    usual = Path(FILE_NAME)
    return usual if usual.exists() else None


def _read_file(path: Path) -> dict[str, Any]:
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(f"The configuration file {path} does not exist.") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"The configuration file {path} is not UTF-8 (byte {error.start}).") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"The configuration file {path} is not valid TOML: {error}.") from None
    except OSError as error:
        raise ConfigError(f"The configuration file {path} cannot be read: {error.strerror}.") from None
    values = {}
    for key, value in table.items():
        option = OPTIONS.get(key.replace("-", "_"))
        if option is None:
            raise ConfigError(f"Unknown option {key!r} in {path}.", _suggestion(key))
        if option.kind is str and type(value) in (int, float):
            value = str(value)  # kv-memory = 4
        values[option.name] = option.check(value, f"{key} in {path}")
    return values


def _read_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    values = {}
    for variable, text in environment.items():
        if not variable.startswith(PREFIX) or variable.removeprefix(PREFIX) in OTHERS:
            continue
        name = variable.removeprefix(PREFIX).lower()
        if name in OPTIONS:
            values[name] = OPTIONS[name].read(text, variable)
        elif close := get_close_matches(name, OPTIONS, n=1, cutoff=0.85):
            # Other FLARE_ variables may belong to other programs: only a likely slip of the pen is refused.
            raise ConfigError(f"Unknown environment variable {variable}.", f"Did you mean {PREFIX}{close[0].upper()}?")
    return values


def _suggestion(key: str) -> str:
    close = get_close_matches(key.replace("-", "_"), OPTIONS, n=1)
    if close:
        return f"Did you mean {close[0].replace('_', '-')}?"
    return "`flare-local config show` lists all options."
