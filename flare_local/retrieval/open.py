"""Opens an index of whatever kind it is."""

from pathlib import Path
from typing import TYPE_CHECKING

from flare_local.retrieval.locate import locate
from flare_local.retrieval.manifest import read_manifest

if TYPE_CHECKING:
    from flare_local.retrieval.bm25s import Bm25sIndex
    from flare_local.retrieval.lucene import LuceneIndex


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
