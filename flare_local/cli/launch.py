"""Runs one command through typer, with plain help texts that stay readable at 80 columns and in a pipe."""

import sys
from itertools import groupby
from typing import Any

import typer
from typer.core import TyperCommand
from typer.main import get_command, get_group


def launch(name: str, loaded: Any, words: list[str]) -> None:
    """Runs the function or typer app of command `name` on the rest of its command line.

    Exceptions come out as they are; `command.main()` would turn interrupts and broken pipes into exit codes of its own.
    """
    app = loaded if isinstance(loaded, typer.Typer) else _single(loaded)
    app.rich_markup_mode = None  # names of models and patterns in help texts are no markup
    for registered in app.registered_commands:
        registered.cls = Panelled
    is_group = isinstance(loaded, typer.Typer)
    command = get_group(app) if is_group else get_command(app)
    if is_group and not words and not getattr(command, "invoke_without_command", False):
        words = ["--help"]
    try:
        with command.make_context(f"flare-local {name}", words) as context:
            command.invoke(context)
    except typer.Exit as done:
        if done.exit_code:
            sys.exit(done.exit_code)


class Panelled(TyperCommand):
    """A typer command whose options are listed under the panels that `cli.options` gave them."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Writes arguments, then one section a panel, in the order of the parameters."""
        for title, parameters in groupby(self.get_params(ctx), key=_section):
            records = [record for parameter in parameters if (record := parameter.get_help_record(ctx)) is not None]
            if records:
                with formatter.section(title):
                    formatter.write_dl(records, col_max=26)


def _section(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return "Arguments"
    return getattr(parameter, "rich_help_panel", None) or "Options"


def _single(function: Any) -> typer.Typer:
    app = typer.Typer(add_completion=False)
    app.command()(function)
    return app
