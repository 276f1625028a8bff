"""How a command gets its options: `@with_options` makes flags of the fields of `config.py`, and `Options` of flags."""

import inspect
from collections.abc import Callable, Collection
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from flare_local.cli.sources import CONCERNS, resolve
from flare_local.config import MethodOptions, ModelOptions, OutputOptions, RetrievalOptions
from flare_local.option import Option, options_of

_PANELS = {ModelOptions: "Model", RetrievalOptions: "Retrieval", MethodOptions: "Method", OutputOptions: "Output"}
_METAVARS = {int: "INTEGER", float: "NUMBER", str: "TEXT"}


def with_options(
    *concerns: type, without: Collection[str] = ()
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """For a typer command with a parameter `options: Options`: replaces it by one flag for each option of `concerns`.

    Without arguments all concerns become flags, but for the options named in `without`. Options that have no flag here
    still come from environment and file.
    The command is called with everything resolved and checked; wrong values end in `UsageError` before it runs.
    """
    shown = concerns or CONCERNS

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(command, eval_str=True)
        kept = [parameter for name, parameter in signature.parameters.items() if name != "options"]
        flags = [_flag(option, _PANELS[concern]) for concern in shown for option in options_of(concern)]
        flags = [flag for flag in flags if flag.name not in without]

        @wraps(command)
        def wrapper(**arguments: Any) -> None:
            given = {flag.name: arguments.pop(flag.name) for flag in flags}
            options = resolve(given, arguments.pop("config"))
            command(**arguments, options=options)

        wrapper.__signature__ = signature.replace(parameters=[*kept, *flags, _CONFIG])  # type: ignore[attr-defined]
        wrapper.__annotations__ = {}  # typer reads the signature; the command's own hints name `options`
        return wrapper

    return decorate


def _flag(option: Option, panel: str) -> inspect.Parameter:
    """Flags arrive as text (None where not given), so that every source is read and refused in the same words."""
    names = f"{option.flag}/--no-{option.flag[2:]}" if option.kind is bool else option.flag
    info = typer.Option(
        names,
        help=option.help + _default(option),
        metavar=None if option.kind is bool else "|".join(option.choices) or _METAVARS[option.kind],
        show_default=False,
        rich_help_panel=panel,
    )
    annotation = Annotated[bool | None, info] if option.kind is bool else Annotated[str | None, info]
    return inspect.Parameter(option.name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


def _default(option: Option) -> str:
    """The default as help shows it, where there is one."""
    if option.default in (None, ""):
        return ""
    return f" [{option.text(option.default)}]"


_CONFIG = inspect.Parameter(
    "config",
    inspect.Parameter.KEYWORD_ONLY,
    default=None,
    annotation=Annotated[
        Path | None,
        typer.Option(
            "--config", metavar="FILE", help="TOML file of options; else FLARE_CONFIG, else flare-local.toml."
        ),
    ],
)
