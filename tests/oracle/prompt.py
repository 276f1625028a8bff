"""Prompts of the reference program: exemplars E, documents D, the question x; each piece becomes ids by itself."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

HEADERS = {"paper": "Search results:", "released": "Search results ranked based on relevance in descending order:"}
NUMBERS = {"paper": "[{}] ", "released": "[{}]: "}


CASE = "Question: {question}\nAnswer:"


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
    hint: str = ""


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


@dataclass(frozen=True)
class Shots:
    """What stands before the test case, and how a question is put there and in the test case itself."""

    examples: tuple[Example, ...] = ()
    instruction: str = ""
    case: str = CASE
    example_case: str = CASE
    closing: str = ""
    before: "Shots | None" = None  # another skill, shown first


def shots_block(shots: Shots, schedule: str, titles: bool = False) -> str:
    """Everything that is the same for all questions, with an empty line after each part."""
    parts = [shots.instruction] if shots.instruction else []
    for example in shots.examples:
        block = documents_block(example.passages, schedule, titles)
        parts.append(
            f"{block}{fill(shots.example_case, question=example.question, hint=example.hint)} {example.answer}"
        )
    parts += [shots.closing] if shots.closing else []
    first = shots_block(shots.before, schedule, titles) if shots.before else ""
    return first + "".join(part + "\n\n" for part in parts)


def exemplars_block(instruction: str, examples: Sequence[Example], schedule: str, titles: bool = False) -> str:
    """The common form of `shots_block`."""
    return shots_block(Shots(tuple(examples), instruction), schedule, titles)


def question_block(question: str, case: str = CASE) -> str:
    """The test case up to where the answer begins."""
    return fill(case, question=one_line(question))


def fill(template: str, **texts: str) -> str:
    """`template` with each {name} replaced once; the texts themselves are not looked into."""
    parts = re.split(r"\{(\w+)\}", template)
    return "".join(texts[part] if i % 2 else part for i, part in enumerate(parts))
