"""What an index is, for `index info`."""

from dataclasses import dataclass
from pathlib import Path

from flare_local.errors import IndexFault
from flare_local.retrieval.bm25s_store import DOCUMENTS_FILE
from flare_local.retrieval.locate import locate
from flare_local.retrieval.lucene_errors import REBUILD
from flare_local.retrieval.manifest import Manifest, read_manifest

MUST_HAVE = {"lucene": "segments_*", "bm25s": DOCUMENTS_FILE}  # the manifest alone is no index


@dataclass(frozen=True)
class Description:
    """What is known of an index without searching it."""

    path: Path
    kind: str
    documents: int
    bytes: int  # on disk
    fields: tuple[str, ...]  # indexed ones
    hash: str  # names it in traces
    manifest: Manifest | None  # None for an index that Pyserini or Anserini built


def describe(path_or_name: str | Path) -> Description:
    """Describe an index; starts Java only where there is no manifest. Raises what `open_index` raises.

    What is in its files is not looked at; `verify` does.
    """
    path = locate(path_or_name)
    size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    manifest = read_manifest(path)
    if manifest is not None:
        if not any(path.glob(MUST_HAVE[manifest.kind])):
            raise IndexFault(f"The index {path} is corrupt: it holds no {MUST_HAVE[manifest.kind]}.", REBUILD)
        return Description(path, manifest.kind, manifest.documents, size, manifest.fields, manifest.hash, manifest)
    from flare_local.retrieval.lucene import LuceneIndex

    with LuceneIndex.open(path) as index:
        return Description(path, "lucene", index.count, size, index.fields, index.manifest_hash, None)
