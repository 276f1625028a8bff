"""The rows of a file: JSONL, a JSON array, or a JSON object that holds them; a broken row does not hide the others."""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from flare_local.errors import UsageError
from flare_local.runs.questions import line_object, line_text, raw_lines

PACKED = {b"PK\x03\x04": "zip", b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ": "xz"}
_BLANKS = re.compile(r"[ \t\r\n]*")


@dataclass(frozen=True)
class Row:
    """One row as it stands in its file."""

    place: str  # file and line, and the number of the row where that says more
    line: int  # from 1
    key: str | None  # of a row in an object of rows
    value: object


@dataclass(frozen=True)
class Fault:
    """One row, or the rest of a file, that cannot be used."""

    line: int
    text: str  # one sentence, with file and line


Rows = Iterator[Row | Fault]


def read_rows(data: bytes, name: str, holder: str | None = None) -> Rows:
    """The rows of a file in order. `holder` names the key of an object of rows, or of an array of them, that a file of
    this kind may be.

    Raises `UsageError` where the file is empty, packed, or has another form.
    """
    for magic, kind in PACKED.items():
        if data.startswith(magic):
            raise UsageError(f"{name} is packed ({kind}).", "Unpack it first.")
    start = data.removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    if not start:
        raise UsageError(f"{name} is empty.")
    if start == b"[":
        return _whole(data, name, _elements)
    if holder is not None and not name.endswith((".jsonl", ".ndjson")) and not _has_object_lines(data):
        return _whole(data, name, lambda cursor: _held(cursor, holder))
    if start == b"{":
        return _lines(data, name)
    raise UsageError(f"{name} is no JSON: it begins with {start!r}.", "Give JSONL, or the file as it was released.")


def _has_object_lines(data: bytes) -> bool:
    """Whether the first line is a whole object, and more follow or it is a question itself."""
    first, _, rest = data.removeprefix(b"\xef\xbb\xbf").lstrip().partition(b"\n")
    try:
        value = json.loads(first)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and (bool(rest.strip()) or any(key.endswith("question") for key in value))


def _lines(data: bytes, name: str) -> Rows:
    for number, line in raw_lines(data):
        place = f"{name}:{number}"
        try:
            text = line_text(line, place)
            if text.strip():
                yield Row(place, number, None, line_object(text, place))
        except UsageError as error:
            yield Fault(number, str(error))


class _Cursor:
    """A place in a JSON text. Values are read one at a time, so that each has its line."""

    def __init__(self, text: str, name: str) -> None:
        self.text, self.name = text, name
        self.at = 0
        self._counted, self._line = 0, 1  # characters looked through, and the line that they end in
        self._decoder = json.JSONDecoder()

    @property
    def line(self) -> int:
        """The line of the next value."""
        self.skip()
        self._line += self.text.count("\n", self._counted, self.at)
        self._counted = self.at
        return self._line

    def skip(self) -> None:
        """Goes past blanks."""
        found = _BLANKS.match(self.text, self.at)
        assert found is not None
        self.at = found.end()

    def took(self, sign: str) -> bool:
        """Whether `sign` is next; it is passed then."""
        self.skip()
        if not self.text.startswith(sign, self.at):
            return False
        self.at += len(sign)
        return True

    def take(self, sign: str) -> None:
        """Passes `sign`. Raises `UsageError` where it is not next."""
        if not self.took(sign):
            found = self.text[self.at : self.at + 1] or "the end"
            raise UsageError(f"{self.name}:{self.line}: not JSON: {found!r} where {sign!r} should be.")

    def value(self) -> object:
        """The next value. Raises `UsageError` where there is none."""
        line = self.line
        try:
            value, self.at = self._decoder.raw_decode(self.text, self.at)
        except json.JSONDecodeError as error:
            raise UsageError(f"{self.name}:{error.lineno}: not JSON: {error.msg} (column {error.colno}).") from None
        except (ValueError, RecursionError) as error:
            raise UsageError(f"{self.name}:{line}: not JSON: {error}.") from None
        return value


def _whole(data: bytes, name: str, rows: Callable[[_Cursor], Iterator[Row]]) -> Rows:
    """Rows up to where the text is broken; that is one fault, as nothing behind it can be trusted."""
    try:
        cursor = _Cursor(line_text(data.removeprefix(b"\xef\xbb\xbf"), f"{name}:1"), name)
    except UsageError:
        number = next(number for number, line in raw_lines(data) if not _is_text(line))
        yield Fault(number, f"{name}:{number}: not UTF-8. Save the file as UTF-8.")
        return
    try:
        yield from rows(cursor)
    except UsageError as error:
        yield Fault(cursor.line, f"{error} What follows it was not read.")


def _is_text(line: bytes) -> bool:
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _elements(cursor: _Cursor) -> Iterator[Row]:
    cursor.take("[")
    number = 0
    while not (number == 0 and cursor.took("]")):
        number += 1
        line = cursor.line
        yield Row(f"{cursor.name}:{line} (row {number})", line, None, cursor.value())
        if not cursor.took(","):
            cursor.take("]")
            return


def _members(cursor: _Cursor) -> Iterator[str]:
    """The keys of an object; whoever asks reads the value of each before the next."""
    cursor.take("{")
    if cursor.took("}"):
        return
    while True:
        line = cursor.line
        key = cursor.value()
        if not isinstance(key, str):
            raise UsageError(f"{cursor.name}:{line}: not JSON: a key that is not a text.")
        cursor.take(":")
        yield key
        if not cursor.took(","):
            cursor.take("}")
            return


def _held(cursor: _Cursor, holder: str) -> Iterator[Row]:
    keys = []
    for key in _members(cursor):
        keys.append(key)
        if key != holder:
            cursor.value()
            continue
        cursor.skip()
        if cursor.text.startswith("[", cursor.at):
            yield from _elements(cursor)
            continue
        for number, id in enumerate(_members(cursor), 1):
            line = cursor.line
            yield Row(f"{cursor.name}:{line} (row {number}, {id[:40]})", line, id, cursor.value())
    if holder not in keys:
        raise UsageError(f"{cursor.name} has no key {holder!r}, but {', '.join(keys)[:60]}.")
