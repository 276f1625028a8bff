"""Writes an index of kind bm25s: the documents, and bm25s's own files in the folder `bm25s`."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

from flare_local.errors import UsageError
from flare_local.retrieval.bm25 import DEFAULT_BM25
from flare_local.retrieval.bm25s_store import DOCUMENTS_FILE, document_line
from flare_local.retrieval.bm25s_words import words
from flare_local.retrieval.corpus_source import Passage

BM25S_FOLDER = "bm25s"


class Bm25sWriter:
    """An index under construction in an empty folder. Keeps the words of all passages in memory until the end."""

    kind = "bm25s"
    analyser = "words, 's dropped, Lucene's English stop words, Porter stemmer"
    fields: tuple[str, ...] = ("contents",)

    def __init__(self, folder: Path) -> None:
        """Raises `UsageError` where bm25s is not installed."""
        require_bm25s()
        self._folder = folder
        self._file = (folder / DOCUMENTS_FILE).open("w", encoding="utf-8")
        self._words: list[list[str]] = []

    @property
    def versions(self) -> dict[str, str]:
        """Of bm25s and its stemmer."""
        return {"bm25s": version("bm25s"), "PyStemmer": version("PyStemmer")}

    def add(self, passages: Sequence[Passage]) -> None:
        """Raises `OSError` where the disk is full."""
        for passage in passages:
            self._file.write(document_line(passage))
            self._words.append(words(f"{passage.title}\n{passage.text}"))

    def finish(self) -> int:
        """Score, save, and count the documents."""
        self._file.close()
        index = index_words(self._words, *DEFAULT_BM25)
        index.save(self._folder / BM25S_FOLDER, show_progress=False)
        return len(self._words)

    def abort(self) -> None:
        """Close the file."""
        with suppress(OSError):  # what is still buffered does not fit a full disk
            self._file.close()


def index_words(documents: Iterable[list[str]], k1: float, b: float) -> Any:
    """A `bm25s.BM25` over tokenised documents, with Lucene's formula."""
    import bm25s

    index = bm25s.BM25(method="lucene", k1=k1, b=b)
    vocabulary: dict[str, int] = {}
    ids = [[vocabulary.setdefault(word, len(vocabulary)) for word in document] for document in documents]
    if not vocabulary:  # only stop words: bm25s cannot build an empty matrix
        vocabulary[""] = 0
        ids[0] = [0]
    index.index((ids, vocabulary), show_progress=False)
    return index


def require_bm25s() -> None:
    """Raises `UsageError` that says how to install what is missing."""
    try:
        import bm25s  # noqa: F401
        import Stemmer  # noqa: F401
    except ImportError as error:
        raise UsageError(f"The package {error.name} is not installed.", "Run: bash scripts/setup.sh bm25s") from error
