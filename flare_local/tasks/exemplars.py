"""Exemplars: worked examples that stand in front of every question. docs/exemplars.md describes the file."""

import json
import re
from dataclasses import dataclass, replace
from pathlib import Path

from flare_local.errors import UsageError
from flare_local.retrieval.document import Document

CASE = "Question: {question}\nAnswer:"  # paper, appendix B, prompts of 2WikiMultihopQA
HEAD_KEYS = {"instruction", "case"}
EXEMPLAR_KEYS = {"question", "hint", "answer", "documents"}
DOCUMENT_KEYS = {"id", "title", "text"}
HINT = "{hint}"


@dataclass(frozen=True)
class Exemplar:
    """One worked example. Its texts stand in the prompt as they are here."""

    question: str
    answer: str
    documents: tuple[Document, ...] = ()
    hint: str = ""  # what stands in the place of {hint}, where the task's questions come with hints


@dataclass(frozen=True)
class Exemplars:
    """What stands in front of every question of a task, and how a question is put."""

    examples: tuple[Exemplar, ...] = ()
    instruction: str = ""  # text in front of the examples
    case: str = CASE  # a question as the model sees it, up to where its answer begins
    example_case: str = ""  # how the examples' questions are put, where that differs from `case`
    before: "Exemplars | None" = None  # another skill, shown first: its instruction and examples
    closing: str = ""  # text after the examples

    @property
    def hinted(self) -> bool:
        """Whether a question of this task comes with a hint."""
        return HINT in self.case

    @property
    def count(self) -> int:
        """Examples in front of a question, those of the skill before included."""
        return len(self.examples) + (self.before.count if self.before is not None else 0)

    def split(self, question: str) -> tuple[str, str]:
        """What is asked, and the hint (empty where this task has none). Raises `UsageError` where one is missing."""
        return split_hint(question) if self.hinted else (question, "")

    def without_last(self, count: int) -> "Exemplars":
        """These exemplars without the last `count` examples; those of the skill before go last."""
        own = min(count, len(self.examples))
        before = self.before
        if before is not None:
            before = before.without_last(count - own)
        return replace(self, examples=self.examples[: len(self.examples) - own], before=before)


def put(case: str, question: str, hint: str = "") -> str:
    """`case` with its {question} and {hint} filled in; braces inside the texts are text."""
    texts = {"{question}": question, HINT: hint}
    return re.sub(r"\{question\}|\{hint\}", lambda place: texts[place.group()], case)


def split_hint(question: str) -> tuple[str, str]:
    """Question and hint of `Who ...? Hint: This question ...`. Raises `UsageError` where one of them is missing."""
    asked, mark, hint = question.rpartition("Hint:")
    if not mark or not asked.strip() or not hint.strip():
        raise UsageError("This task's questions come with a hint.", "Write it behind the question: Who ...? Hint: ...")
    return asked.strip(), hint.strip()


NONE = Exemplars()


def read_exemplars(path: Path) -> Exemplars:
    """Reads a JSONL file. Raises `UsageError` that names the line, where the file or a line is wrong."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise UsageError(f"{path}: there is no such file.", "Give a JSONL file of exemplars.") from None
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: not UTF-8 (byte {error.start}).", "Save the file as UTF-8.") from None
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}.", "Give a JSONL file of exemplars.") from None
    # NOTE: not splitlines(), which also splits at characters that JSON allows inside a string.
    lines = [(number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip()]
    objects = [(f"{path}, line {number}", _object(line, f"{path}, line {number}")) for number, line in lines]
    instruction, case = "", CASE
    if objects and objects[0][1].keys() & HEAD_KEYS:
        place, head = objects.pop(0)
        _check_keys(head, HEAD_KEYS, place)
        instruction = _text(head, "instruction", place) if "instruction" in head else ""
        case = _text(head, "case", place) if "case" in head else CASE
        if case.count("{question}") != 1:
            raise UsageError(f"{place}: `case` does not hold {{question}} once.", "Write {question} where it goes.")
        if case.count(HINT) > 1:
            raise UsageError(f"{place}: `case` holds {{hint}} more than once.", "Write {hint} where it goes.")
    if not objects:
        raise UsageError(f"{path}: no exemplars in it.", 'Write one {"question": ..., "answer": ...} a line.')
    return Exemplars(tuple(_exemplar(item, place, HINT in case) for place, item in objects), instruction, case)


def _object(line: str, place: str) -> dict[str, object]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{place}: not JSON: {error}.", "Write one JSON object a line.") from None
    if not isinstance(value, dict):
        raise UsageError(f"{place}: not a JSON object.", 'Write {"question": ..., "answer": ...}.')
    return value


def _exemplar(item: dict[str, object], place: str, hinted: bool) -> Exemplar:
    _check_keys(item, EXEMPLAR_KEYS, place)
    documents = item.get("documents", [])
    if not isinstance(documents, list):
        raise UsageError(f"{place}: `documents` is not a list.", 'Write [{"title": ..., "text": ...}, ...].')
    if "hint" in item and not hinted:
        raise UsageError(f"{place}: `hint` has no place.", "Write {hint} into the `case` of the first line.")
    return Exemplar(
        question=_text(item, "question", place),
        answer=_text(item, "answer", place),
        documents=tuple(_document(value, rank, place) for rank, value in enumerate(documents, start=1)),
        hint=_text(item, "hint", place) if hinted else "",
    )


def _document(value: object, rank: int, place: str) -> Document:
    place = f"{place}, document {rank}"
    if isinstance(value, str):
        value = {"text": value}
    if not isinstance(value, dict):
        raise UsageError(f"{place}: neither a text nor an object.", 'Write {"title": ..., "text": ...}.')
    _check_keys(value, DOCUMENT_KEYS, place)
    title = _text(value, "title", place, empty=True) if "title" in value else ""
    identity = _text(value, "id", place, empty=True) if "id" in value else ""
    return Document(id=identity, title=title, text=_text(value, "text", place), score=0.0, rank=rank)


def _check_keys(item: dict[str, object], known: set[str], place: str) -> None:
    unknown = sorted(item.keys() - known)
    if unknown:
        raise UsageError(f"{place}: unknown key {unknown[0]!r}.", f"Known are: {', '.join(sorted(known))}.")


def _text(item: dict[str, object], key: str, place: str, empty: bool = False) -> str:
    value = item.get(key)
    if not isinstance(value, str) or (not empty and not value.strip()):
        wrong = "is missing" if key not in item else "is empty" if isinstance(value, str) else "is not a text"
        raise UsageError(f"{place}: `{key}` {wrong}.", "Give a text.")
    if has_half_a_pair(value):
        raise UsageError(f"{place}: `{key}` holds half of a surrogate pair, which is no text.", "Leave it out.")
    return value


def has_half_a_pair(text: str) -> bool:
    """Whether a lone surrogate is in it: JSON's escapes can write one, no tokenizer and no file can hold one."""
    return any("\ud800" <= character <= "\udfff" for character in text)
