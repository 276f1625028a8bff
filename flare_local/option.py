"""One option: its default, its help, what it may be, and how its text is read. `config.py` is made of them.

The same check serves a flag, an environment variable, a line of the configuration file and a Python argument.
"""

import types
from collections.abc import Callable
from dataclasses import dataclass, fields
from difflib import get_close_matches
from math import isfinite
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from flare_local.errors import UsageError

_WORDS = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}
_NOUNS = {int: "a whole number", float: "a number", str: "a text", bool: "true or false"}


@dataclass(frozen=True)
class Limit:
    """What a value may be, beyond its type. `text` completes the sentence "allowed is ..."."""

    text: str
    holds: Callable[[Any], bool]


def between(low: float, high: float) -> Limit:
    """A number from `low` to `high`, both included."""
    return Limit(f"a number from {low:g} to {high:g}", lambda value: low <= value <= high)


def at_least(low: float) -> Limit:
    """A finite number of at least `low`."""
    return Limit(f"a number of at least {low:g}", lambda value: value >= low)


@dataclass(frozen=True)
class About:
    """What an annotation says of its field: `theta: Annotated[float, About("help", between(0, 1))] = 0.8`."""

    help: str
    limit: Limit | None = None


@dataclass(frozen=True)
class Option:
    """One field of one concern, as the command line, the environment and the file see it."""

    name: str  # of the field: top_k
    kind: type  # bool, int, float or str
    choices: tuple[str, ...]  # empty where any value of the kind will do
    optional: bool  # None is a value of its own: "not set"
    default: Any
    help: str
    limit: Limit | None

    @property
    def flag(self) -> str:
        """How it is written on the command line: `--top-k`."""
        return "--" + self.name.replace("_", "-")

    @property
    def allowed(self) -> str:
        """What its value may be, in words."""
        if self.choices:
            return "one of " + ", ".join(self.choices)
        return self.limit.text if self.limit else _NOUNS[self.kind]

    def read(self, text: str, place: str) -> Any:
        """The value that `text` stands for. Raises `UsageError` naming `place`: the option and where it was set."""
        if self.optional and not text:
            return None
        try:
            value = _WORDS[text.strip().lower()] if self.kind is bool else self.kind(text)
        except (ValueError, KeyError):
            raise self.refusal(text, place) from None
        return self.check(value, place)

    def text(self, value: Any) -> str:
        """A value as a user would write it."""
        if isinstance(value, bool):
            return "on" if value else "off"
        return str(value)

    def check(self, value: Any, place: str) -> Any:
        """`value` as this option keeps it (whole numbers become floats where floats are asked for), or `UsageError`."""
        if value is None and self.optional:
            return None
        if self.kind is float and type(value) is int:
            value = float(value)
        if type(value) is not self.kind or not self._within(value):
            raise self.refusal(value, place)
        return value

    def refusal(self, value: object, place: str) -> UsageError:
        """The error that says what is wrong with `value`."""
        close = get_close_matches(str(value), self.choices, n=1)
        return UsageError(
            f"{place} is {shown(value)}; allowed is {self.allowed}.", f"Did you mean {close[0]}?" if close else ""
        )

    def _within(self, value: Any) -> bool:
        if self.choices:
            return value in self.choices
        if isinstance(value, float) and not isfinite(value):
            return False
        return self.limit is None or self.limit.holds(value)


def options_of(concern: type) -> list[Option]:
    """The options of a dataclass, in its order."""
    hints = get_type_hints(concern, include_extras=True)
    return [_option(item.name, hints[item.name], item.default) for item in fields(concern)]


def check_all(concern: Any) -> None:
    """Checks every field of a frozen dataclass of options; called from its `__post_init__`. Raises `UsageError`."""
    for item in options_of(type(concern)):
        object.__setattr__(concern, item.name, item.check(getattr(concern, item.name), item.flag))


def shown(value: object) -> str:
    """A value inside an error message: one line, at most 60 characters, control characters escaped."""
    text = f"{value:g}" if isinstance(value, float) else repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _option(name: str, hint: Any, default: Any) -> Option:
    annotation, about = get_args(hint)
    parts = get_args(annotation) if get_origin(annotation) in (Union, types.UnionType) else (annotation,)
    bare = next(part for part in parts if part is not type(None))
    literal = get_origin(bare) is Literal
    return Option(
        name=name,
        kind=str if literal else bare,
        choices=get_args(bare) if literal else (),
        optional=type(None) in parts,
        default=default,
        help=about.help,
        limit=about.limit,
    )
