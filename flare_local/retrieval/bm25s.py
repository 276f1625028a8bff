"""BM25 without Java: bm25s. Scores are close to Lucene's, not equal; never compare runs across the two."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, Self

from flare_local.errors import IndexFault, UsageError
from flare_local.retrieval.bm25 import Bm25
from flare_local.retrieval.bm25s_store import REBUILD, DocumentStore
from flare_local.retrieval.bm25s_words import words
from flare_local.retrieval.bm25s_writer import BM25S_FOLDER, index_words, require_bm25s
from flare_local.retrieval.document import Document
from flare_local.retrieval.locate import locate
from flare_local.retrieval.manifest import Manifest, read_manifest
from flare_local.spans import Kind, spanned


class Bm25sIndex:
    """An open index of kind bm25s, with the methods of `LuceneIndex`. Made by `Bm25sIndex.open`.

    Order: by score; equal scores by document id, as strings. Documents that share no word with the query are never
    returned (bm25s itself returns them with score 0).
    """

    def __init__(
        self, path: Path, bm25: Bm25, manifest: Manifest, index: Any, documents: DocumentStore, threads: int
    ) -> None:
        self.path = path
        self.bm25 = bm25
        self.manifest = manifest
        self.manifest_hash = manifest.hash
        self.count = manifest.documents
        self._index = index
        self._documents = documents
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="flare-bm25s")
        self._closed = False

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        k1: float | None = None,
        b: float | None = None,
        scoring: str = "default",
        threads: int = 2,
    ) -> Self:
        """Open a folder. Scores are stored for k1 0.9, b 0.4; other values score all documents anew, here.

        Raises `IndexFault` where the index is absent, half built or corrupt; `UsageError` for scoring `paper`, which
        needs two fields.
        """
        bm25 = Bm25.of(k1, b, scoring)
        if bm25.scoring == "paper":
            raise UsageError("`--bm25 paper` needs an index of kind lucene.", "Build one, or use `--bm25 default`.")
        if threads < 1:
            raise UsageError(f"{threads} search threads are too few.", "Use 1 or more.")
        require_bm25s()
        folder = locate(path)
        manifest = read_manifest(folder)
        if manifest is None or manifest.kind != "bm25s":
            raise IndexFault(f"The index {folder} is not of kind bm25s.", "Open it with `open_index`.")
        documents = DocumentStore(folder, manifest.documents)
        return cls(folder, bm25, manifest, _load(folder, bm25, documents), documents, threads)

    async def search(self, queries: Sequence[str], k: int) -> list[list[Document]]:
        """Rank at most `k` documents for each query; see `Retriever.search`. Raises `UsageError` for k below 1."""
        futures = self._submit(queries, k)
        return list(await asyncio.gather(*(asyncio.wrap_future(future) for future in futures)))

    def search_now(self, queries: Sequence[str], k: int) -> list[list[Document]]:
        """As `search`, for code that is not asynchronous."""
        return [future.result() for future in self._submit(queries, k)]

    def close(self) -> None:
        """End the threads. A second call does nothing."""
        self._closed = True
        self._threads.shutdown()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _submit(self, queries: Sequence[str], k: int) -> list[Future[list[Document]]]:
        if k < 1:
            raise UsageError(f"top-k is {k}; it must be 1 or more.")
        if self._closed:
            raise IndexFault(f"The index {self.path} was closed.", "Open it again.")
        return [self._threads.submit(self._search, query, k) for query in queries]

    @spanned(Kind.SEARCH, "bm25s")
    def _search(self, query: str, k: int) -> list[Document]:
        import numpy as np

        known = [word for word in words(query) if word in self._index.vocab_dict]
        if not known:
            return []
        scores = self._index.get_scores(known)
        k = min(k, self.count)
        least = np.partition(scores, -k)[-k]  # the k-th best score; everything that ties with it is sorted by id
        positions = np.flatnonzero((scores >= least) & (scores > 0)).tolist()
        best = sorted(positions, key=lambda at: (-float(scores[at]), self._documents.ids[at]))[:k]
        try:
            found = self._documents.read(best)
        except (OSError, ValueError) as error:
            raise IndexFault(f"The index {self.path} can no longer be read.", REBUILD) from error
        return [
            Document(identity, title, text, float(scores[at]), rank)
            for rank, (at, (identity, title, text)) in enumerate(zip(best, found, strict=True), start=1)
        ]


@spanned(Kind.INDEX, "bm25s reads the index")
def _load(folder: Path, bm25: Bm25, documents: DocumentStore) -> Any:
    import bm25s

    try:
        index = bm25s.BM25.load(folder / BM25S_FOLDER)
        matches = int(index.scores["num_docs"]) == len(documents.ids)
    except Exception as error:  # numpy, json and bm25s raise many kinds
        raise IndexFault(f"The index {folder} is corrupt: bm25s cannot read it.", REBUILD) from error
    if not matches:
        raise IndexFault(f"The index {folder} is corrupt: its scores are not those of its documents.", REBUILD)
    if (index.k1, index.b) == (bm25.k1, bm25.b):
        return index
    return index_words((words(f"{title}\n{text}") for _, title, text in documents.passages()), bm25.k1, bm25.b)
