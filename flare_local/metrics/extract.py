"""The part of an output that is judged: the short answer behind its task's words, or the answers to all readings.

Patterns of the released program (prep.py). What follows a blank line is no part of an answer.
"""

import re

SHORT = re.compile(r"answer is (.*)")  # to the end of the line
YES_OR_NO = re.compile(r"answer is (yes|no)\.")
READINGS = tuple(
    re.compile(pattern, re.DOTALL)
    for pattern in (
        r"The answers to all interpretations are: (.*)$",
        r"The answer to this interpretation is: (.*)$",
        r"The answer to this interpretation is (.*)$",
        r"interpretations and the answers are: (.*)$",  # the paper's wording (appendix B), and this program's exemplars
    )
)


def output(text: str) -> str:
    """What the model wrote up to the first blank line, without blanks around it."""
    return text.strip().split("\n\n", 1)[0].strip()


def short_answer(text: str) -> str | None:
    """What is given as the answer; None where the form is wrong: no "answer is", or nothing behind it."""
    found = SHORT.search(output(text))
    return (found.group(1).strip() or None) if found else None


def yes_or_no(text: str) -> str | None:
    """`yes` or `no`; None where the form is wrong: the full stop belongs to it."""
    found = YES_OR_NO.search(output(text))
    return found.group(1) if found else None


def answers_to_readings(text: str) -> tuple[str, bool]:
    """What is said of all readings, and whether the words that announce it were there; else the whole output."""
    whole = output(text)
    for pattern in READINGS:
        if found := pattern.search(whole):
            return found.group(1), True
    return whole, False
