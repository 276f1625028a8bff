"""Builds an index from a corpus: beside its target, counted, then renamed. Interrupted, it leaves nothing."""

import shutil
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b, sha256
from importlib.metadata import version
from pathlib import Path
from typing import Protocol, TextIO

from flare_local.errors import CorpusError, DiskFull, IndexFault, UsageError
from flare_local.retrieval.build_folder import BuildFolder
from flare_local.retrieval.corpus import DEFAULT_WORDS, Corpus
from flare_local.retrieval.corpus_source import Passage
from flare_local.retrieval.manifest import KINDS, Manifest

BATCH = 500  # passages; about 40 ms of indexing
SKIPPED_FILE = "skipped.txt"  # in the index's folder: what --skip-bad left out
INDEX_PER_CORPUS = 2.5  # bytes; the index is about as large as its corpus, a merge needs its size once more
TEXT_PER_GZIP = 4  # bytes of text in a byte of gzip; 2.5 to 4 for English

Progress = Callable[["Stage"], None]


@dataclass(frozen=True)
class Stage:
    """How far a build has come."""

    documents: int
    bytes_read: int
    total_bytes: int
    finishing: bool = False  # everything is read; Lucene merges and closes


@dataclass(frozen=True)
class BuildReport:
    """What was built, and what was left out."""

    path: Path
    manifest: Manifest
    passed_over: int  # files of a folder that are of other kinds
    skipped: tuple[str, ...]  # the first of what --skip-bad left out; the file skipped.txt has all


class Writer(Protocol):
    """An index under construction."""

    kind: str
    analyser: str
    fields: tuple[str, ...]

    @property
    def versions(self) -> dict[str, str]: ...
    def add(self, passages: Sequence[Passage]) -> None: ...
    def finish(self) -> int: ...
    def abort(self) -> None: ...


def build_index(
    corpus: str | Path,
    out: str | Path,
    *,
    kind: str = "lucene",
    words: int = DEFAULT_WORDS,
    threads: int = 2,
    skip_bad: bool = False,
    force: bool = False,
    memory: str | None = None,
    progress: Progress | None = None,
) -> BuildReport:
    """Build an index of `corpus` in the folder `out`.

    `kind` is lucene or bm25s; `words` is the length of passages cut from plain text; `threads` merge Lucene's segments;
    `memory` is Java's heap (`jvm.start`). Raises `CorpusError` at the first broken entry unless `skip_bad`, and where
    nothing is left; `UsageError` where `out` exists and not `force`; `DiskFull`; `JavaError`. Takes about 80 bytes of
    memory a passage for the ids seen.
    """
    if kind not in KINDS:
        raise UsageError(f"Unknown kind of index {kind!r}.", f"Use {' or '.join(KINDS)}.")
    for name, value in (("words", words), ("threads", threads)):
        if value < 1:
            raise UsageError(f"--{name} is {value}; it must be 1 or more.")
    skipped = _Skipped()
    source = Corpus(corpus, words, skipped if skip_bad else None)
    folder = BuildFolder.claim(Path(out), force)
    writer: Writer | None = None
    try:
        _check_space(source, folder.path)
        if skip_bad:
            skipped.keep_in(folder.path / SKIPPED_FILE)
        writer = _writer(kind, folder.path, threads, memory)
        manifest = _fill(writer, source, skipped, progress)
        skipped.close()
        manifest.write(folder.path)
        folder.publish()
    except BaseException as error:
        with suppress(OSError):
            skipped.close()
        if writer is not None:
            writer.abort()
        folder.discard()
        if isinstance(error, OSError):
            raise DiskFull(f"{folder.target} cannot be written: {error.strerror}.") from error
        raise
    return BuildReport(folder.target, manifest, source.passed_over, tuple(skipped.first))


def _fill(writer: Writer, source: Corpus, skipped: "_Skipped", progress: Progress | None) -> Manifest:
    passages = _WithText(source)
    added = 0
    for batch in _batches(passages):
        writer.add(batch)
        added += len(batch)
        if progress is not None:
            progress(Stage(added, source.bytes_read, source.total_bytes))
    if not added:
        raise CorpusError(f"The corpus {source.path} holds no document with text.")
    if progress is not None:
        progress(Stage(added, source.total_bytes, source.total_bytes, finishing=True))
    versions = {**writer.versions, "flare-local": version("flare-local")}
    found = writer.finish()
    if found != added:
        raise IndexFault(f"The new index holds {found} documents instead of {added}; it was thrown away.")
    return Manifest(
        kind=writer.kind,
        documents=added,
        source=str(source.path.absolute()),
        source_format=source.format,
        source_sha256=source.sha256,
        content_sha256=passages.digest.hexdigest(),
        skipped=skipped.count,
        duplicates=passages.duplicates(),
        empty=passages.empty,
        analyser=writer.analyser,
        fields=writer.fields,
        versions=versions,
    )


class _WithText:
    """The passages that go into the index; counts the others, and looks for repeated ones."""

    def __init__(self, source: Corpus) -> None:
        self._source = source
        self._contents = array("Q")  # hashes of title and text
        self.digest = sha256()
        self.empty = 0

    def __iter__(self) -> Iterator[Passage]:
        for passage in self._source:
            if not passage.text:
                self.empty += 1
                continue
            content = f"{passage.title}\0{passage.text}".encode()
            self._contents.append(int.from_bytes(blake2b(content, digest_size=8).digest(), "little"))
            self.digest.update(passage.id.encode() + b"\0" + content + b"\0")
            yield passage

    def duplicates(self) -> int:
        """How many passages repeat the title and text of another."""
        return len(self._contents) - len(set(self._contents))


class _Skipped:
    """Counts what is left out, keeps the first lines of it, and writes all to a file."""

    def __init__(self) -> None:
        self.count = 0
        self.first: list[str] = []
        self._file: TextIO | None = None

    def keep_in(self, path: Path) -> None:
        self._file = path.open("w", encoding="utf-8", errors="backslashreplace")

    def __call__(self, what: str) -> None:
        self.count += 1
        if len(self.first) < 20:
            self.first.append(what)
        if self._file is not None:
            self._file.write(what + "\n")

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


def _writer(kind: str, folder: Path, threads: int, memory: str | None) -> Writer:
    if kind == "bm25s":
        from flare_local.retrieval.bm25s_writer import Bm25sWriter

        return Bm25sWriter(folder)
    from flare_local.retrieval.lucene_writer import LuceneWriter

    return LuceneWriter(folder, threads, memory)


def _batches(passages: "_WithText") -> Iterator[list[Passage]]:
    batch: list[Passage] = []
    for passage in passages:
        batch.append(passage)
        if len(batch) == BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _check_space(source: Corpus, folder: Path) -> None:
    text = sum(file.stat().st_size * (TEXT_PER_GZIP if file.suffix == ".gz" else 1) for file in source.files)
    needed, free = int(text * INDEX_PER_CORPUS), shutil.disk_usage(folder).free
    if free < needed:
        raise DiskFull(
            f"The disk of {folder.parent} has {free / 2**20:,.0f} MiB free; the index needs {needed / 2**20:,.0f}.",
            "Free some space or choose another folder with --out.",
        )
