"""`flare-local presets`: the paper's tasks with their settings; `presets show` prints one with its exemplars."""

import json
from difflib import get_close_matches
from typing import Annotated

import typer

from flare_local.errors import UsageError
from flare_local.policies.prompt import exemplars_text
from flare_local.policies.rules import PAPER, Rules
from flare_local.tasks.files import FOLDER
from flare_local.tasks.presets import PRESETS, Preset

app = typer.Typer(help="The tasks that --preset takes: settings and exemplars.", invoke_without_command=True)


@app.callback()
def presets(context: typer.Context) -> None:
    """List the tasks that --preset takes; `presets show NAME` prints one with its exemplars."""
    if context.invoked_subcommand is not None:
        return
    width = max(map(len, PRESETS))
    for name, preset in PRESETS.items():
        print(f"{name:<{width}}  {preset.line}")
        print(f"{'':<{width}}  {', '.join(settings(preset))}; {preset.exemplars.count} exemplars")


@app.command()
def show(
    name: Annotated[str, typer.Argument(help="Name of a preset.", show_default=False)],
    jsonl: Annotated[bool, typer.Option("--jsonl", help="Print its exemplar file, to change and use it.")] = False,
) -> None:
    """Print a preset's settings as lines of a configuration file, then its exemplars as the model sees them."""
    if name not in PRESETS:
        close = get_close_matches(name, PRESETS, n=1)
        remedy = f"Did you mean {close[0]}?" if close else f"There are {', '.join(PRESETS)}."
        raise UsageError(f"There is no preset {name!r}.", remedy)
    preset = PRESETS[name]
    if jsonl:
        print((FOLDER / f"{name}.jsonl").read_text("utf-8"), end="")
        return
    print(f"# {preset.line}\n# Settings: {preset.source}.\n")
    print("\n".join(settings(preset)))
    print(f"\n# {preset.exemplars.count} exemplars, then the question at hand:\n")
    print(exemplars_text(preset.exemplars, Rules()) + preset.exemplars.case)


def settings(preset: Preset) -> list[str]:
    """Each setting as a line of the configuration file."""
    return [
        f"{option.replace('_', '-')} = {json.dumps(value)}" for option, value in preset.settings(PAPER.name).items()
    ]
