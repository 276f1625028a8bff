"""An index that takes longer, as one on another machine or over more passages does."""

import asyncio
from collections.abc import Sequence

from flare_local.retrieval.document import Document, Retriever


class SlowSearch:
    """A `Retriever` with the results of another, `ms` milliseconds later. The delay takes no processor."""

    def __init__(self, index: Retriever, ms: float) -> None:
        self._index = index
        self._seconds = ms / 1000

    async def search(self, queries: Sequence[str], k: int) -> list[list[Document]]:
        await asyncio.sleep(self._seconds)
        return await self._index.search(queries, k)
