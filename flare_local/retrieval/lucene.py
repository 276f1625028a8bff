"""Lucene's BM25 through Anserini's `SimpleSearcher`, the Java object behind Pyserini's `LuceneSearcher`."""

import asyncio
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, Self

from flare_local.errors import FlareError, IndexFault, UsageError
from flare_local.retrieval.bm25 import Bm25
from flare_local.retrieval.document import Document
from flare_local.retrieval.java_thread import JavaThread, java_thread
from flare_local.retrieval.jvm import Jvm
from flare_local.retrieval.locate import locate
from flare_local.retrieval.lucene_errors import REBUILD, explain
from flare_local.retrieval.manifest import Manifest, read_manifest
from flare_local.retrieval.stored_text import title_and_text
from flare_local.spans import Kind, span, spanned

PAPER_FIELDS = ("title", "text")
PAPER_TIE_BREAKER = 0.5  # released program: multi_match, best_fields, tie_breaker 0.5 over title and text


class LuceneIndex:
    """An open Lucene index, ours or one that Pyserini or Anserini built. Made by `LuceneIndex.open`.

    Order: by score; equal scores by document id, as strings (Anserini's rule). Safe to use from several threads and
    asyncio tasks; not in a forked child. Queries that wait while others run are searched together, on `threads` threads
    of Lucene's.
    """

    @spanned(Kind.INDEX, "Lucene opens the index")
    def __init__(self, path: Path, bm25: Bm25, manifest: Manifest | None, java: JavaThread, threads: int) -> None:
        """Runs on the Java thread; raises Java's exceptions raw. Everybody else calls `open`."""
        self.fields = _check_contents(path, bm25, manifest, java.jvm)  # indexed ones
        self.path = path
        self.bm25 = bm25
        self.manifest = manifest
        self.manifest_hash = manifest.hash if manifest else _hash_of_files(path)
        self._java = java
        self._threads = threads
        self._waiting: deque[_Waiting] = deque()
        self._closed = False
        autoclass = java.jvm.autoclass
        self._searcher = autoclass("io.anserini.search.SimpleSearcher")(str(path))
        self._searcher.set_bm25(bm25.k1, bm25.b)  # also makes the inner searcher, which threads would race for
        self.count = int(self._searcher.get_total_num_docs())
        self._array_list = autoclass("java.util.ArrayList")
        self._best_field = autoclass("io.anserini.search.query.DisjunctionMaxQueryGenerator")(PAPER_TIE_BREAKER)
        self._fields = autoclass("java.util.HashMap")()
        for name in PAPER_FIELDS:
            self._fields.put(name, autoclass("java.lang.Float")(1.0))

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

        `threads` is how many queries run at once; `memory` is Java's heap if this starts Java (`jvm.start`). Raises
        `IndexFault` where the index is absent, half built, corrupt, of a newer Lucene, or holds no text; `JavaError`;
        `UsageError`.
        """
        bm25 = Bm25.of(k1, b, scoring)
        if threads < 1:
            raise UsageError(f"{threads} search threads are too few.", "Use 1 or more.")
        path = locate(path_or_name)
        manifest = read_manifest(path)
        if manifest is not None and manifest.kind != "lucene":
            raise IndexFault(f"The index {path} is of kind {manifest.kind}, not lucene.", "Open it with `open_index`.")
        java = java_thread(memory)
        try:
            return java.run(cls, path, bm25, manifest, java, threads)
        except java.jvm.exception as error:
            raise explain(error, path, "open") from error

    async def search(self, queries: Sequence[str], k: int) -> list[list[Document]]:
        """Rank at most `k` documents for each query; see `Retriever.search`. Raises `UsageError` for k below 1."""
        futures = self._submit(queries, k)
        return list(await asyncio.gather(*(asyncio.wrap_future(future) for future in futures)))

    def search_now(self, queries: Sequence[str], k: int) -> list[list[Document]]:
        """As `search`, for code that is not asynchronous."""
        return [future.result() for future in self._submit(queries, k)]

    def close(self) -> None:
        """Close the index once the searches that wait are done. A second call does nothing."""
        if not self._closed:
            self._closed = True
            self._java.run(self._searcher.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Close it. After an error, Ctrl-C above all, nobody waits for searches: they may take longer than patience."""
        if kind is None:
            self.close()
        elif not self._closed:
            self._closed = True
            for each in list(self._waiting):
                each.future.cancel()
            self._java.submit(self._searcher.close)

    def _submit(self, queries: Sequence[str], k: int) -> list[Future[list[Document]]]:
        if k < 1:
            raise UsageError(f"top-k is {k}; it must be 1 or more.")
        if self._closed:
            raise IndexFault(f"The index {self.path} was closed.", "Open it again.")
        # a lone surrogate has no UTF-16 form and becomes "?"; Java would reserve room for k hits
        waiting = [_Waiting(query.encode("utf-8", "replace").decode(), min(k, self.count)) for query in queries]
        self._waiting.extend(waiting)
        self._java.submit(self._search_waiting)
        return [each.future for each in waiting]

    def _search_waiting(self) -> None:
        """Answer everything that waits, one batch for each k. On the Java thread; a later call finds nothing left."""
        by_k: dict[int, list[_Waiting]] = {}
        while self._waiting:
            each = self._waiting.popleft()
            if each.future.set_running_or_notify_cancel():
                by_k.setdefault(each.k, []).append(each)
        for batch in by_k.values():
            with span(Kind.SEARCH, "Lucene", partial(_about, batch)):
                if len(batch) == 1 or not self._answer_together(batch):
                    for each in batch:
                        self._answer(each)

    def _answer(self, waiting: "_Waiting") -> None:
        try:
            if self.bm25.scoring == "paper":
                hits = self._searcher.search_fields(self._best_field, waiting.query, self._fields, waiting.k)
            else:
                hits = self._searcher.search(waiting.query, waiting.k)
            waiting.future.set_result(self._documents(hits))
        except self._java.jvm.exception as error:
            waiting.future.set_exception(explain(error, self.path, "search"))
        except BaseException as error:
            waiting.future.set_exception(error)

    def _answer_together(self, batch: "list[_Waiting]") -> bool:
        """False where Lucene gave up: one bad query fails a whole batch, so each is then asked alone."""
        queries, names = self._array_list(), self._array_list()
        for number, each in enumerate(batch):
            queries.add(each.query)
            names.add(str(number))
        k, threads = batch[0].k, min(self._threads, len(batch))
        try:
            if self.bm25.scoring == "paper":
                found = self._searcher.batch_search_fields(self._best_field, queries, names, k, threads, self._fields)
            else:
                found = self._searcher.batch_search(queries, names, k, threads)
            results = [self._documents(found.get(str(number))) for number in range(len(batch))]
        except Exception:  # not swallowed: each query is then asked alone, and the one at fault raises its own error
            return False
        for each, result in zip(batch, results, strict=True):
            each.future.set_result(result)
        return True

    def _documents(self, hits: Any) -> list[Document]:
        return [self._document(hit, rank) for rank, hit in enumerate(hits or (), start=1)]

    def _document(self, hit: Any, rank: int) -> Document:
        raw = hit.lucene_document.get("raw")
        if raw is None:
            raise _no_text(self.path)
        title, text = title_and_text(raw)
        return Document(str(hit.docid), title, text, float(hit.score), rank)


@dataclass(frozen=True)
class _Waiting:
    """One query that waits for the Java thread."""

    query: str
    k: int
    future: Future[list[Document]] = field(default_factory=Future)


def _about(batch: "Sequence[_Waiting]") -> dict[str, object]:
    return {"queries": len(batch)}


def _check_contents(path: Path, bm25: Bm25, manifest: Manifest | None, machine: Jvm) -> tuple[str, ...]:
    """The indexed fields. Raises `IndexFault` where the index has no documents, no text, or not what was asked for."""
    directory = machine.autoclass("org.apache.lucene.store.FSDirectory").open(
        machine.autoclass("java.io.File")(str(path)).toPath()
    )
    reader = machine.autoclass("org.apache.lucene.index.DirectoryReader").open(directory)
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
        fields = manifest.fields if manifest else _indexed_fields(reader, machine)
    finally:
        reader.close()
        directory.close()
    missing = [name for name in PAPER_FIELDS if name not in fields]
    if bm25.scoring == "paper" and missing:
        raise IndexFault(
            f"The index {path} has no indexed field {' and '.join(missing)}, which `--bm25 paper` needs.",
            "Build it with `flare-local index build`, or use `--bm25 default`.",
        )
    return fields


def _indexed_fields(reader: Any, machine: Jvm) -> tuple[str, ...]:
    names = machine.autoclass("org.apache.lucene.index.FieldInfos").getIndexedFields(reader)
    return tuple(sorted(str(name) for name in names.toArray()))


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
