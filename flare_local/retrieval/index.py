"""An open index of whatever kind, as the command line keeps it: it searches, and says which one it is."""

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from flare_local.retrieval.document import Document


class Index(Protocol):
    """A `Retriever` that can be named, searched at once and closed."""

    @property
    def path(self) -> Path | str:
        """Where it is: a folder, or the address of a server."""
        ...

    manifest_hash: str  # of what it holds; another hash, other documents

    async def search(self, queries: Sequence[str], k: int) -> list[list[Document]]: ...
    def search_now(self, queries: Sequence[str], k: int) -> list[list[Document]]: ...
    def close(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None: ...
