"""Opens an index of whatever kind it is."""

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from flare_local.retrieval.locate import locate
from flare_local.retrieval.manifest import read_manifest

if TYPE_CHECKING:
    from flare_local.retrieval.bm25s import Bm25sIndex
    from flare_local.retrieval.index import Index
    from flare_local.retrieval.lucene import LuceneIndex

KINDS = ("opensearch", "elasticsearch")
Shown = Literal["snippets", "pages"]

SERVERS = (*KINDS, "searxng")


def is_on_server(name: str) -> bool:
    """Whether a name is that of an index on a server: `opensearch:URL/INDEX` and the like."""
    return name.partition(":")[0] in SERVERS


def open_on_server(name: str, *, shown: Shown = "snippets", excluded: str = "", cache: Path | None = None) -> "Index":
    """Open an index on a server; `shown`, `excluded` and `cache` are those of `Searxng.open`, and of no other.

    Raises `UsageError`, `ServerFault`, `IndexFault`.
    """
    if name.startswith("searxng:"):
        from flare_local.retrieval.searxng import Searxng

        return Searxng.open(name, shown=shown, excluded=excluded, cache=cache)
    from flare_local.retrieval.search_server import SearchServer

    return SearchServer.open(name)


def open_index(
    path_or_name: str | Path,
    *,
    k1: float | None = None,
    b: float | None = None,
    scoring: str = "default",
    threads: int = 2,
    memory: str | None = None,
) -> "LuceneIndex | Bm25sIndex":
    """Open a folder, or a prebuilt Lucene index by its Pyserini name. Options and errors: see `LuceneIndex.open`."""
    path = locate(path_or_name)
    manifest = read_manifest(path)
    if manifest is not None and manifest.kind == "bm25s":
        from flare_local.retrieval.bm25s import Bm25sIndex

        return Bm25sIndex.open(path, k1=k1, b=b, scoring=scoring, threads=threads)
    from flare_local.retrieval.lucene import LuceneIndex

    return LuceneIndex.open(path, k1=k1, b=b, scoring=scoring, threads=threads, memory=memory)
