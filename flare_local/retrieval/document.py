"""What retrieval returns, and the one verb that policies know of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Document:
    """One passage as it was found for one query."""

    id: str
    title: str  # empty where the corpus has none
    text: str
    score: float  # BM25, comparable within one index only
    rank: int  # 1 is best


class Retriever(Protocol):
    """Anything that ranks documents. Implementations are safe to call from several asyncio tasks at once."""

    async def search(self, queries: Sequence[str], k: int) -> list[list[Document]]:
        """Rank at most `k` documents for each query, best first; an empty list where nothing matches.

        Raises `IndexFault` where the index can no longer be read.
        """
        ...
