"""The questions of a run: text lines, JSONL or TSV, from a file or standard input; errors name file and line."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import BinaryIO

from flare_local.errors import UsageError

ID_KEYS = ("id", "_id", "qid")
QUESTION_KEY = "question"
Row = tuple[int, str | None, str]  # line number from 1, id where one is given, question


class Form(StrEnum):
    """How a file of questions is written."""

    TEXT = "text"  # a question a line
    JSONL = "jsonl"  # an object a line: question, and id if there is one
    TSV = "tsv"  # id, tab, question; or a header that names the columns


ENDINGS = {".txt": Form.TEXT, ".jsonl": Form.JSONL, ".ndjson": Form.JSONL, ".tsv": Form.TSV}


@dataclass(frozen=True)
class Asked:
    """One question of a run."""

    id: str  # unique in its run; never part of a path
    question: str  # not blank
    line: int  # where it stands in its file, from 1

    def as_dict(self) -> dict[str, object]:
        """For JSON."""
        return asdict(self)


def read_file(path: Path, form: Form | None = None) -> list[Asked]:
    """The questions of a file, in its order. Without `form` the file's ending tells it, or else its first line.

    Raises `UsageError` with file and line.
    """
    return read_questions(file_bytes(path), str(path), form or ENDINGS.get(path.suffix.lower()))


def file_bytes(path: Path, what: str = "question") -> bytes:
    """What is in a file. Raises `UsageError` where it cannot be read; `what` it holds."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise UsageError(f"The {what} file {path} does not exist.") from None
    except IsADirectoryError:
        raise UsageError(f"{path} is a folder.", "Name a file.") from None
    except OSError as error:
        raise UsageError(f"The {what} file {path} cannot be read: {error.strerror}.") from None


def read_stream(stream: BinaryIO, form: Form | None = None) -> list[Asked]:
    """As `read_file`, from standard input."""
    return read_questions(stream.read(), "standard input", form)


def read_questions(data: bytes, name: str, form: Form | None = None) -> list[Asked]:
    """The questions in `data`. An id that is not given is `line-` and the number of its line. Ids may not repeat."""
    lines = list(_lines(data, name))
    form = form or _guess(lines)
    rows = {Form.TEXT: _text, Form.JSONL: _jsonl, Form.TSV: _tsv}[form](lines, name)
    asked: dict[str, Asked] = {}
    for number, id, question in rows:
        id = f"line-{number}" if id is None else id
        check_asked(id, question, f"{name}:{number}")
        if id in asked:
            raise UsageError(
                f"{name}:{number}: the id {id!r} is that of line {asked[id].line} too.", "Give each question its own."
            )
        asked[id] = Asked(id, question, number)
    if not asked:
        raise UsageError(f"{name} holds no questions.", "Write one a line.")
    return list(asked.values())


def _lines(data: bytes, name: str) -> Iterator[tuple[int, str]]:
    """Line number and text of every line that is not blank. Lines end at \\n alone: others may stand in a question."""
    for number, line in raw_lines(data):
        if (text := line_text(line, f"{name}:{number}")).strip():
            yield number, text


def raw_lines(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Line number from 1 and bytes of every line; a byte order mark in front is none of them."""
    yield from enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1)


def line_text(line: bytes, place: str) -> str:
    """The text of a line. Raises `UsageError` where it is not UTF-8."""
    try:
        return line.removesuffix(b"\r").decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"{place}: not UTF-8 (byte {error.start} of the line).", "Save the file as UTF-8.") from None


def _guess(lines: list[tuple[int, str]]) -> Form:
    """JSONL where the first line is a JSON object; a tab does not make a line TSV, as a question may hold one."""
    try:
        return Form.JSONL if lines and isinstance(json.loads(lines[0][1]), dict) else Form.TEXT
    except ValueError:
        return Form.TEXT


def _text(lines: list[tuple[int, str]], name: str) -> Iterator[Row]:
    for number, text in lines:
        yield number, None, text.strip()


def _jsonl(lines: list[tuple[int, str]], name: str) -> Iterator[Row]:
    for number, text in lines:
        place = f"{name}:{number}"
        row = line_object(text, place)
        question = row.get(QUESTION_KEY)
        if not isinstance(question, str):
            raise UsageError(f"{place}: no text under the key {QUESTION_KEY!r}.")
        yield number, given_id(row, place), question


def line_object(text: str, place: str) -> dict[str, object]:
    """The JSON object on a line. Raises `UsageError` where it holds another thing."""
    try:
        row = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{place}: not JSON: {error}.", "Write one object a line.") from None
    if not isinstance(row, dict):
        raise UsageError(f"{place}: not a JSON object.", "Write one object a line.")
    return row


def given_id(row: dict[str, object], place: str) -> str | None:
    """The id of a row, None where it has none. Raises `UsageError` for one that is no text and no whole number."""
    for key in ID_KEYS:
        value = row.get(key)
        if value is not None:
            if isinstance(value, bool) or not isinstance(value, str | int):
                raise UsageError(f"{place}: the {key} is {json.dumps(value)[:40]}.", "Write a text or a whole number.")
            return str(value)
    return None


def _tsv(lines: list[tuple[int, str]], name: str) -> Iterator[Row]:
    """Columns as the header names them; without one id and question. Quotes are plain characters."""
    if not lines:
        return
    names = [column.strip().lower() for column in lines[0][1].split("\t")]
    header = QUESTION_KEY in names
    columns = names if header else ["id", QUESTION_KEY]
    key = next((key for key in ID_KEYS if key in columns), None)
    for number, text in lines[header:]:
        cells = text.split("\t")
        if len(cells) != len(columns):
            wanted = f"{len(columns)} columns ({', '.join(columns)})"
            raise UsageError(f"{name}:{number}: {len(cells)} columns instead of {wanted}.", "Part them with tabs.")
        row = dict(zip(columns, cells, strict=True))
        yield number, None if key is None else row[key], row[QUESTION_KEY]


def check_asked(id: str, question: str, place: str) -> None:
    """Raises `UsageError` where one of them is blank or no text."""
    for what, text in (("id", id), ("question", question)):
        if not text.strip():
            raise UsageError(f"{place}: the {what} is empty.")
        if any("\ud800" <= character <= "\udfff" for character in text):
            raise UsageError(f"{place}: the {what} holds half of a surrogate pair, which is no text.")
