"""The files of a corpus as numbered lines: hashed, counted, unzipped and decoded while they are read."""

import gzip
import io
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO, cast

from flare_local.errors import CorpusError

LONGEST_LINE = 64 * 2**20  # bytes; a longer one is no passage but a file without line breaks
UTF8_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Passage:
    """One entry of a corpus."""

    id: str
    title: str  # empty where there is none
    text: str  # may be empty; the builder leaves those out and counts them
    line: int  # where it begins in its file, counted from 1


@dataclass(frozen=True)
class BadEntry:
    """An entry that cannot be used, and why."""

    file: Path
    line: int  # counted from 1
    reason: str

    def __str__(self) -> str:
        return f"{self.file}, line {self.line}: {self.reason}"


class Source:
    """Opens files one after the other; keeps one digest and one count over the bytes of all."""

    def __init__(self) -> None:
        self.digest = sha256()
        self.bytes_read = 0  # as they lie on disk

    def lines(self, file: Path) -> Iterator[tuple[int, str | BadEntry]]:
        """Numbered lines of `file`, without their ends. Raises `CorpusError` for a damaged gzip or an endless line."""
        number = 0
        with file.open("rb") as raw:
            stream: BinaryIO = cast(BinaryIO, io.BufferedReader(_Counted(raw, self), 2**20))
            if file.name.lower().endswith(".gz"):
                stream = cast(BinaryIO, gzip.GzipFile(fileobj=stream))
            try:
                while line := stream.readline(LONGEST_LINE + 1):
                    number += 1
                    if len(line) > LONGEST_LINE:
                        raise CorpusError(f"{file}, line {number}: longer than {LONGEST_LINE // 2**20} MiB.")
                    yield number, _decoded(file, number, line)
            except (gzip.BadGzipFile, EOFError, zlib.error) as error:
                raise CorpusError(f"{file}: the gzip data is damaged or truncated after line {number}.") from error


class _Counted(io.RawIOBase):
    """Passes bytes on and tells the source of them."""

    def __init__(self, raw: io.BufferedReader, source: Source) -> None:
        self._raw = raw
        self._source = source

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        size = self._raw.readinto(buffer)
        self._source.digest.update(buffer[:size])
        self._source.bytes_read += size
        return size


def _decoded(file: Path, number: int, line: bytes) -> str | BadEntry:
    if number == 1:
        line = line.removeprefix(UTF8_MARK)
    try:
        return line.decode("utf-8").rstrip("\r\n")
    except UnicodeDecodeError as error:
        return BadEntry(file, number, f"not UTF-8 (byte {error.start + 1} of the line)")
