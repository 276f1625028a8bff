"""`flare-local profile`: where the time of a run went, and a page that shows how its answers came about."""

import json
from pathlib import Path
from typing import Annotated

import typer

from flare_local.cli.page_file import write_page
from flare_local.profile.page import page_of
from flare_local.profile.reader import read_profile
from flare_local.profile.summary import summary_of
from flare_local.profile.text import lines_of


def profile(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What --profile wrote.", show_default=False)],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
    html: Annotated[
        Path | None,
        typer.Option(
            "--html", metavar="OUT.html", help="Also write a page with the timeline of each answer.", show_default=False
        ),
    ] = None,
) -> None:
    """Say where the time of a run went: every moment counts once, and they add up to the whole.

    The file itself also opens in Perfetto (ui.perfetto.dev) and chrome://tracing.
    """
    read = read_profile(file)
    summary = summary_of(read)
    if html is not None:
        write_page(html, page_of(read, summary))
    if as_json:
        print(json.dumps(summary.as_dict()))
    else:
        print("\n".join(lines_of(summary)))
