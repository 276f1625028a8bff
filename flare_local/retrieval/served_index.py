"""What all indexes on servers share: searches run on a few threads, one request a query."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Self

from flare_local.errors import IndexFault, UsageError
from flare_local.retrieval.document import Document

AT_ONCE = 8  # requests on their way


class ServedIndex(ABC):
    """An open index on a server. `path` is its name as the user writes it."""

    def __init__(self, path: str, manifest_hash: str, at_once: int = AT_ONCE) -> None:
        self.path = path
        self.manifest_hash = manifest_hash
        self._threads = ThreadPoolExecutor(at_once, thread_name_prefix="flare-search")
        self._closed = False

    @abstractmethod
    def find(self, query: str, k: int) -> list[Document]:
        """At most `k` documents for one query, best first. Raises `ServerFault`."""

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
        self._threads.shutdown(cancel_futures=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _submit(self, queries: Sequence[str], k: int) -> list[Future[list[Document]]]:
        if k < 1:
            raise UsageError(f"top-k is {k}; it must be 1 or more.")
        if self._closed:
            raise IndexFault(f"The index {self.path} was closed.", "Open it again.")
        return [self._threads.submit(self.find, query, k) if query.strip() else _nothing() for query in queries]


def _nothing() -> Future[list[Document]]:
    """What a blank query finds."""
    done: Future[list[Document]] = Future()
    done.set_result([])
    return done
