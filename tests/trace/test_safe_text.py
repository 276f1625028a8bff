"""Nothing that a model or a document says may steer the terminal."""

import pytest

from flare_local.trace.safe_text import safe_line, safe_text


@pytest.mark.parametrize(
    ("steering", "shown"),
    [
        ("\x1b[31mred", r"\x1b[31mred"),
        ("bell\x07", r"bell\x07"),
        ("c1 \x9b2J", r"c1 \x9b2J"),
        ("back\b\r", r"back\x08\r"),
        ("\u202ereversed", r"\u202ereversed"),
        ("\u2028line", r"\u2028line"),
        ("half \ud800", r"half \ud800"),
        ("\x7f\x00", r"\x7f\x00"),
    ],
)
def test_what_steers_a_terminal_is_shown_instead(steering: str, shown: str) -> None:
    assert safe_text(steering) == shown
    assert safe_line(steering) == shown


@pytest.mark.parametrize("text", ["plain", "[/INST] [bold]", "é 漢字 عربي עברית", "👩‍👩‍👧", ""])
def test_letters_of_all_scripts_and_brackets_stay(text: str) -> None:
    assert safe_text(text) == text


def test_line_breaks_stay_in_a_text_and_are_shown_in_a_line() -> None:
    assert safe_text("a\n\tb") == "a\n\tb"
    assert safe_line("a\n\tb") == r"a\n\tb"
