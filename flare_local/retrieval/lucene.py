"""Lucene's BM25 through Anserini's `SimpleSearcher`, the Java object behind Pyserini's `LuceneSearcher`."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, Self

from flare_local.errors import FlareError, IndexFault, UsageError
from flare_local.retrieval import jvm
from flare_local.retrieval.document import Document
from flare_local.retrieval.java_threads import JavaThreads
from flare_local.retrieval.locate import locate
from flare_local.retrieval.lucene_errors import REBUILD, explain
from flare_local.retrieval.manifest import Manifest, read_manifest
from flare_local.retrieval.stored_text import title_and_text

Scoring = Literal["default", "paper"]
DEFAULT_BM25 = (0.9, 0.4)  # k1, b; Pyserini's defaults
PAPER_BM25 = (1.2, 0.75)  # Elasticsearch's defaults, which the authors' server had
PAPER_TIE_BREAKER = 0.5  # released program: multi_match, best_fields, tie_breaker 0.5 over title and text
PAPER_FIELDS = ("title", "text")


@dataclass(frozen=True)
class Bm25:
    """How documents are scored."""

    k1: float
    b: float
    scoring: Scoring

    @classmethod
    def of(cls, k1: float | None, b: float | None, scoring: str) -> Self:
        """Fill in the defaults of `scoring`. Raises `UsageError` for values that BM25 has no meaning for."""
        if scoring not in ("default", "paper"):
            raise UsageError(f"Unknown BM25 scoring {scoring!r}.", "Use `default` or `paper`.")
        default_k1, default_b = PAPER_BM25 if scoring == "paper" else DEFAULT_BM25
        k1, b = default_k1 if k1 is None else float(k1), default_b if b is None else float(b)
        if not 0 <= k1 < float("inf"):
            raise UsageError(f"BM25 k1 is {k1}; it must be 0 or more.")
        if not 0 <= b <= 1:
            raise UsageError(f"BM25 b is {b}; it must lie between 0 and 1.")
        return cls(k1, b, "paper" if scoring == "paper" else "default")


class LuceneIndex:
    """An open Lucene index, ours or one that Pyserini or Anserini built. Made by `LuceneIndex.open`.

    Order: by score; equal scores by document id, as strings (Anserini's rule). Safe to use from several threads and
    asyncio tasks; not in a forked child.
    """

    def __init__(
        self, path: Path, bm25: Bm25, manifest: Manifest | None, machine: jvm.Jvm, threads: JavaThreads, searcher: Any
    ) -> None:
        self.path = path
        self.bm25 = bm25
        self.manifest = manifest
        self.count = int(searcher.get_total_num_docs())
        self.manifest_hash = manifest.hash if manifest else _hash_of_files(path)
        self._jvm = machine
        self._threads = threads
        self._searcher = searcher
        self._closed = False
        self._bag = machine.autoclass("io.anserini.search.query.BagOfWordsQueryGenerator")()
        self._array_list = machine.autoclass("java.util.ArrayList")
        self._best_field = machine.autoclass("org.apache.lucene.search.DisjunctionMaxQuery")

    @classmethod
    def open(
        cls,
        path_or_name: str | Path,
        *,
        k1: float | None = None,
        b: float | None = None,
        scoring: str = "default",
        threads: int = 2,
        memory: str | None = None,
    ) -> Self:
        """Open a folder, or a prebuilt index by its Pyserini name. `k1` and `b` default to those of `scoring`.

        `threads` run searches; `memory` is Java's heap if this starts Java (`jvm.start`). Raises `IndexFault` where the
        index is absent, half built, corrupt, of a newer Lucene, or holds no text; `JavaError`; `UsageError`.
        """
        bm25 = Bm25.of(k1, b, scoring)
        if threads < 1:
            raise UsageError(f"{threads} search threads are too few.", "Use 1 or more.")
        path = locate(path_or_name)
        manifest = read_manifest(path)
        if manifest is not None and manifest.kind != "lucene":
            raise IndexFault(f"The index {path} is of kind {manifest.kind}, not lucene.", "Open it with `open_index`.")
        machine = jvm.start(memory)
        pool = JavaThreads(machine, threads)
        try:
            return pool.run(cls._open, path, bm25, manifest, machine, pool)
        except BaseException as error:
            pool.close()
            if isinstance(error, machine.exception):
                raise explain(error, path, "open") from error
            raise

    @classmethod
    def _open(cls, path: Path, bm25: Bm25, manifest: Manifest | None, machine: jvm.Jvm, pool: JavaThreads) -> Self:
        _check_contents(path, bm25, manifest, machine)
        searcher = machine.autoclass("io.anserini.search.SimpleSearcher")(str(path))
        searcher.set_bm25(bm25.k1, bm25.b)  # also makes the inner searcher, which threads would race for
        return cls(path, bm25, manifest, machine, pool, searcher)

    async def search(self, queries: Sequence[str], k: int) -> list[list[Document]]:
        """Rank at most `k` documents for each query; see `Retriever.search`. Raises `UsageError` for k below 1."""
        futures = [self._submit(query, k) for query in queries]
        return list(await asyncio.gather(*(asyncio.wrap_future(future) for future in futures)))

    def search_now(self, queries: Sequence[str], k: int) -> list[list[Document]]:
        """As `search`, for code that is not asynchronous."""
        futures = [self._submit(query, k) for query in queries]
        return [future.result() for future in futures]

    def close(self) -> None:
        """Close the index and end its threads. A second call does nothing."""
        if self._closed:
            return
        self._closed = True
        self._threads.run(self._searcher.close)
        self._threads.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _submit(self, query: str, k: int) -> Any:
        if k < 1:
            raise UsageError(f"top-k is {k}; it must be 1 or more.")
        if self._closed:
            raise IndexFault(f"The index {self.path} was closed.", "Open it again.")
        return self._threads.submit(self._search, query, min(k, self.count))

    def _search(self, query: str, k: int) -> list[Document]:
        text = query.encode("utf-8", "replace").decode()  # a lone surrogate has no UTF-16 form: it becomes "?"
        try:
            hits = self._searcher.search(text if self.bm25.scoring == "default" else self._paper_query(text), k)
            return [self._document(hit, rank) for rank, hit in enumerate(hits, start=1)]
        except self._jvm.exception as error:
            raise explain(error, self.path, "search") from error

    def _paper_query(self, text: str) -> Any:
        """Elasticsearch's multi_match of type best_fields: score = best field + 0.5 x the other."""
        analyser = self._searcher.get_analyzer()
        fields = self._array_list()
        for field in PAPER_FIELDS:
            fields.add(self._bag.buildQuery(field, analyser, text))
        return self._best_field(fields, PAPER_TIE_BREAKER)

    def _document(self, hit: Any, rank: int) -> Document:
        raw = hit.lucene_document.get("raw")
        if raw is None:
            raise _no_text(self.path)
        title, text = title_and_text(raw)
        return Document(str(hit.docid), title, text, float(hit.score), rank)


def _check_contents(path: Path, bm25: Bm25, manifest: Manifest | None, machine: jvm.Jvm) -> None:
    """Raises `IndexFault` where the index has no documents, no text, not all documents, or not the fields asked for."""
    folder = machine.autoclass("java.io.File")(str(path)).toPath()
    reader = machine.autoclass("org.apache.lucene.index.DirectoryReader").open(
        machine.autoclass("org.apache.lucene.store.FSDirectory").open(folder)
    )
    try:
        count = int(reader.numDocs())
        if count == 0:
            raise IndexFault(f"The index {path} holds no documents.", REBUILD)
        if manifest is not None and manifest.documents != count:
            raise IndexFault(
                f"The index {path} is corrupt: {count} documents, but {manifest.documents} were built.", REBUILD
            )
        if reader.storedFields().document(0).get("raw") is None:
            raise _no_text(path)
        if bm25.scoring == "paper":
            indexed = manifest.fields if manifest else _indexed_fields(reader, machine)
            missing = [field for field in PAPER_FIELDS if field not in indexed]
            if missing:
                raise IndexFault(
                    f"The index {path} has no indexed field {' and '.join(missing)}, which `--bm25 paper` needs.",
                    "Build it with `flare-local index build`, or use `--bm25 default`.",
                )
    finally:
        reader.close()


def _indexed_fields(reader: Any, machine: jvm.Jvm) -> set[str]:
    names = machine.autoclass("org.apache.lucene.index.FieldInfos").getIndexedFields(reader)
    return {str(name) for name in names.toArray()}


def _no_text(path: Path) -> FlareError:
    return IndexFault(
        f"The index {path} stores no text: its documents could be ranked but not read.",
        "Build it with --storeRaw, or choose the prebuilt index that stores it (not a -slim one).",
    )


def _hash_of_files(path: Path) -> str:
    """Names an index without a manifest: sha256 over its commit file and the names and sizes of all files."""
    digest = sha256()
    for file in sorted(path.iterdir()):
        digest.update(f"{file.name}\0{file.stat().st_size}\0".encode())
        if file.name.startswith("segments_"):
            digest.update(file.read_bytes())
    return digest.hexdigest()
