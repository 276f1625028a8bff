"""A corpus on disk as a stream of passages, with file and line in every error."""

from collections.abc import Callable, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Literal

from flare_local.errors import CorpusError
from flare_local.retrieval import corpus_formats
from flare_local.retrieval.corpus_source import BadEntry, Passage, Source
from flare_local.retrieval.manifest import MANIFEST_FILE

Format = Literal["jsonl", "beir", "dpr", "text"]
JSONL_SUFFIXES = (".jsonl", ".ndjson", ".json")
TEXT_SUFFIXES = (".txt", ".md", ".markdown")
DPR_SUFFIXES = (".tsv",)
BEIR_FILES = ("corpus.jsonl", "corpus.jsonl.gz")
DEFAULT_WORDS = 100  # of a passage cut from plain text; as the Wikipedia dump of the paper (DPR)


class Corpus:
    """The files of a corpus. Iterate it once; `bytes_read` and `sha256` follow the reading."""

    def __init__(
        self, path: str | Path, words: int = DEFAULT_WORDS, on_bad: Callable[[str], None] | None = None
    ) -> None:
        """Find out the format. `on_bad` takes what is wrong with an entry, which is then left out; without it the
        first one raises. Raises `CorpusError` where there is nothing that can be read."""
        self.path = Path(path)
        self.format, self.files = _find(self.path)
        self.passed_over = _others(self.path, self.format, len(self.files))  # files of a folder, of other kinds
        self._words = words
        self._on_bad = on_bad
        self._source = Source()
        try:
            self.total_bytes = sum(file.stat().st_size for file in self.files)
        except OSError as error:
            raise _unreadable(self.path, error) from error

    @property
    def bytes_read(self) -> int:
        """Of the files as they lie on disk (compressed ones compressed)."""
        return self._source.bytes_read

    @property
    def sha256(self) -> str:
        """Of the bytes read so far, file after file."""
        return self._source.digest.hexdigest()

    def __iter__(self) -> Iterator[Passage]:
        """Raises `CorpusError` at a broken entry, unless `on_bad` takes it; always where a file cannot be read."""
        ids: set[int] = set()  # hashes: ids of 21 million passages would need twice the memory
        for file in self.files:
            for entry in self._entries(file):
                if isinstance(entry, Passage):
                    identity = _hash64(entry.id)
                    if identity not in ids:
                        ids.add(identity)
                        yield entry
                        continue
                    entry = BadEntry(file, entry.line, f"the id {entry.id!r} was there before")
                if self._on_bad is None:
                    raise CorpusError(f"{entry}.", "Mend it, or leave such entries out with --skip-bad.")
                self._on_bad(str(entry))

    def _entries(self, file: Path) -> Iterator[corpus_formats.Entry]:
        try:
            yield from self._read(file)
        except OSError as error:
            raise _unreadable(file, error) from error

    def _read(self, file: Path) -> Iterator[corpus_formats.Entry]:
        if self.format == "text":
            root = self.path if self.path.is_dir() else self.path.parent
            return corpus_formats.text_entries(self._source, file, root, self._words)
        if self.format == "dpr":
            return corpus_formats.dpr_entries(self._source, file)
        return corpus_formats.jsonl_entries(self._source, file)


def _find(path: Path) -> tuple[Format, list[Path]]:
    try:
        if path.is_dir():
            return _find_in_folder(path)
        if not path.exists():
            raise CorpusError(f"There is no corpus {path}.")
        if not path.is_file():
            raise CorpusError(f"{path} is neither a file nor a folder.")
        if path.stat().st_size == 0:
            raise CorpusError(f"The corpus {path} is empty.")
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from error
    formats: list[tuple[Format, tuple[str, ...]]] = [
        ("jsonl", JSONL_SUFFIXES),
        ("dpr", DPR_SUFFIXES),
        ("text", TEXT_SUFFIXES),
    ]
    for name, suffixes in formats:
        if _has_suffix(path, suffixes):
            return name, [path]
    raise CorpusError(
        f"The format of {path} is unknown.",
        "Name it .jsonl, .tsv (DPR), .txt or .md (each also .gz), or give a BEIR folder or a folder of text files.",
    )


def _find_in_folder(folder: Path) -> tuple[Format, list[Path]]:
    for name in BEIR_FILES:
        if (folder / name).is_file():
            return "beir", [folder / name]
    if (folder / MANIFEST_FILE).exists() or any(folder.glob("segments_*")):
        raise CorpusError(f"{folder} is an index, not a corpus.", "Give the texts, or the folder to `ask --index`.")
    files = _files(folder)
    texts = [file for file in files if _has_suffix(file, TEXT_SUFFIXES)]
    lines = [file for file in files if _has_suffix(file, JSONL_SUFFIXES)]
    if texts and lines:
        raise CorpusError(f"{folder} holds both text files and JSONL files.", "Give one kind, or one file.")
    if texts:
        return "text", texts
    if lines:
        return "jsonl", lines
    raise CorpusError(f"{folder} holds no corpus: no corpus.jsonl (BEIR), no .jsonl, .txt or .md file.")


def _others(path: Path, kind: Format, read: int) -> int:
    return len(_files(path)) - read if path.is_dir() and kind != "beir" else 0


def _files(folder: Path) -> list[Path]:
    """The files below `folder`, but for hidden ones and those of an index that was built in it."""
    indexes = {manifest.parent for manifest in folder.rglob(MANIFEST_FILE)}
    return sorted(
        file
        for file in folder.rglob("*")
        if file.is_file() and not _hidden(file, folder) and indexes.isdisjoint(file.parents)
    )


def _has_suffix(path: Path, suffixes: tuple[str, ...]) -> bool:
    return path.name.lower().removesuffix(".gz").endswith(suffixes)


def _hidden(file: Path, folder: Path) -> bool:
    return any(part.startswith(".") for part in file.relative_to(folder).parts)


def _unreadable(path: Path, error: Exception) -> CorpusError:
    reason = getattr(error, "strerror", None) or str(error)
    return CorpusError(f"The corpus {str(path)!r} cannot be read: {reason}.")


def _hash64(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")
