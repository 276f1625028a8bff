"""The two outputs as users and pipes see them."""

import subprocess
import sys
from itertools import pairwise

import pytest

from flare_local.cli.sources import OPTIONS
from flare_local.policies.methods import METHODS
from tests.cli.shell import Shell

PRINT = "from flare_local.cli.console import out, err; out().print('[bold]x[/bold] :smile: ' + 'y' * 300, style='red')"


def printed(**environment: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", PRINT], capture_output=True, text=True, check=True, env={"PATH": "", **environment}
    ).stdout


def test_a_pipe_gets_text_as_it_is() -> None:
    assert printed() == "[bold]x[/bold] :smile: " + "y" * 300 + "\n"


@pytest.mark.parametrize("variable", ["NO_COLOR", "TERM"])
def test_colours_can_be_switched_off(variable: str) -> None:
    value = {"NO_COLOR": "1", "TERM": "dumb"}[variable]
    assert "\x1b[31m" in printed(FORCE_COLOR="1")
    assert "\x1b[31m" not in printed(FORCE_COLOR="1", **{variable: value})


def test_every_method_is_listed_with_its_source(shell: Shell) -> None:
    lines = shell("methods").out.splitlines()
    named = [line for line in lines if not line.startswith(" ")]
    assert [line.split()[0] for line in named] == list(METHODS)
    assert all("section" in line for line in named)


def test_a_method_is_listed_with_the_options_that_it_listens_to(shell: Shell) -> None:
    lines = shell("methods").out.splitlines()
    options = next(after for line, after in pairwise(lines) if line.startswith("previous_window"))
    assert options.split() == ["--combine", "--window", "--window-query"]
    flags = {word for line in lines if line.startswith(" ") for word in line.split()}
    assert flags <= {option.flag for option in OPTIONS.values()}
