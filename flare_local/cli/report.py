"""`flare-local report`: runs side by side on one page."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from flare_local.cli.page_file import check_page, write_page


def report(
    runs: Annotated[
        list[Path],
        typer.Argument(metavar="RUN...", help="Folders of eval, of rows of it, or of batch.", show_default=False),
    ],
    out: Annotated[Path, typer.Option("--out", metavar="FILE.html", help="The page.")] = Path("report.html"),
) -> None:
    """Write a page about runs: scores, differences, plots, and every answer with its probabilities.

    It is one file that needs no network. Runs that are still going on are shown as far as they are.
    """
    check_page(out)  # before anything is computed
    from flare_local.report.page import page_of
    from flare_local.report.reader import read_report

    read = read_report(runs)
    write_page(out, page_of(read))
    print(f"{out}: {len(read.questions)} questions, {len(read.rows)} rows", file=sys.stderr)
