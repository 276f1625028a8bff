"""Prompts of the reference program: exemplars E, documents D, the question x; each piece becomes ids by itself."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

HEADERS = {"paper": "Search results:", "released": "Search results ranked based on relevance in descending order:"}
NUMBERS = {"paper": "[{}] ", "released": "[{}]: "}


@dataclass(frozen=True)
class Passage:
    """A document as the search function returned it."""

    id: str
    title: str
    text: str


@dataclass(frozen=True)
class Example:
    """One few-shot example with its own documents."""

    question: str
    answer: str
    passages: tuple[Passage, ...] = ()


def one_line(text: str) -> str:
    """Line breaks become single spaces, blanks at both ends go."""
    return re.sub("\r\n|\n|\r", " ", text).strip()


def documents_block(passages: Sequence[Passage], schedule: str, titles: bool = False) -> str:
    """Header and one numbered line a passage that has text; nothing at all where none has."""
    lines = []
    for passage in passages:
        text, title = one_line(passage.text), one_line(passage.title)
        if text:
            number = NUMBERS[schedule].format(len(lines) + 1)
            lines.append(f"{number}{title}: {text}\n" if titles and title else f"{number}{text}\n")
    return "".join([HEADERS[schedule] + "\n", *lines]) if lines else ""


def exemplars_block(instruction: str, examples: Sequence[Example], schedule: str, titles: bool = False) -> str:
    """Everything that is the same for all questions, with an empty line after each part."""
    parts = [instruction] if instruction else []
    for example in examples:
        block = documents_block(example.passages, schedule, titles)
        parts.append(f"{block}Question: {example.question}\nAnswer: {example.answer}")
    return "".join(part + "\n\n" for part in parts)


def question_block(question: str) -> str:
    """The test case up to where the answer begins."""
    return f"Question: {one_line(question)}\nAnswer:"
