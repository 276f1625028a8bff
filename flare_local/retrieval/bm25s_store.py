"""The documents of a bm25s index: one JSON line each, found by position without reading the rest."""

import json
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

from flare_local.errors import IndexFault
from flare_local.retrieval.corpus_source import Passage

DOCUMENTS_FILE = "documents.jsonl"
REBUILD = "Build it again: flare-local index build CORPUS --out DIR --kind bm25s --force"


class DocumentStore:
    """Reads documents by their position. Ids are kept in memory, as they decide the order of equal scores."""

    def __init__(self, folder: Path, count: int) -> None:
        """Raises `IndexFault` where the file is missing, broken, or does not hold `count` documents."""
        self._path = folder / DOCUMENTS_FILE
        self._starts = array("Q")
        self.ids: list[str] = []
        try:
            with self._path.open("rb") as file:
                while line := self._next(file):
                    self.ids.append(json.loads(line)["id"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise IndexFault(f"The index {folder} is corrupt: {DOCUMENTS_FILE} cannot be read.", REBUILD) from error
        if len(self.ids) != count:
            raise IndexFault(
                f"The index {folder} is corrupt: {len(self.ids)} documents, but {count} were built.", REBUILD
            )

    def read(self, positions: Sequence[int]) -> list[tuple[str, str, str]]:
        """Id, title and text of each."""
        with self._path.open("rb") as file:
            return [self._read(file, position) for position in positions]

    def passages(self) -> Iterator[tuple[str, str, str]]:
        """All of them, in the order in which they were built."""
        with self._path.open("rb") as file:
            for position in range(len(self.ids)):
                yield self._read(file, position)

    def _next(self, file: IO[bytes]) -> bytes:
        start = file.tell()
        if line := file.readline():
            self._starts.append(start)
        return line

    def _read(self, file: IO[bytes], position: int) -> tuple[str, str, str]:
        file.seek(self._starts[position])
        value = json.loads(file.readline())
        return value["id"], value["title"], value["text"]


def document_line(passage: Passage) -> str:
    """What the store holds of one passage."""
    value = {"id": passage.id, "title": passage.title, "text": passage.text}
    return json.dumps(value, ensure_ascii=False) + "\n"
