"""The two outputs: results on stdout, everything else on stderr. Colour only on a terminal, and never with NO_COLOR."""

from functools import cache

from rich.console import Console


@cache
def out() -> Console:
    """Where results go."""
    return _console(stderr=False)


@cache
def err() -> Console:
    """Where progress, notes and traces go."""
    return _console(stderr=True)


def _console(stderr: bool) -> Console:
    # Texts of models and documents are data: no markup, no emoji codes, no guessed colours, no wrapping in a pipe.
    console = Console(stderr=stderr, markup=False, emoji=False, highlight=False)
    console.soft_wrap = not console.is_terminal
    return console
