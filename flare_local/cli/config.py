"""`flare-local config show`: every option, its value, and where that came from."""

import json

import typer

from flare_local.cli.options import with_options
from flare_local.cli.sources import Options

app = typer.Typer(help="Show the options in force and where each came from.", no_args_is_help=True)


@app.callback()
def config() -> None:
    """Options come from flags, FLARE_<OPTION> variables, a TOML file and defaults, in this order."""


@app.command()
@with_options()
def show(options: Options) -> None:
    """Print every option as a line of the TOML file, with the source of its value."""
    if options.output.json:
        values = {name: {"value": value, "source": options.sources[name]} for name, value in options.as_dict().items()}
        print(json.dumps(values, indent=2, ensure_ascii=False))
        return
    lines = [(_toml_line(name, value), options.sources[name]) for name, value in options.as_dict().items()]
    width = min(40, max(len(line) for line, _ in lines))
    for line, source in lines:
        print(f"{line:<{width}}  # {source}")


def _toml_line(name: str, value: object) -> str:
    key = name.replace("_", "-")
    if value is None:
        return f"# {key} ="  # TOML has no null: leave the line out
    return f"{key} = {json.dumps(value, ensure_ascii=False)}"  # JSON's scalars are TOML's
