"""Reads every byte of an index and says whether it is whole."""

from hashlib import sha256
from pathlib import Path

from flare_local.errors import IndexFault
from flare_local.retrieval.java_thread import java_thread
from flare_local.retrieval.jvm import Jvm
from flare_local.retrieval.locate import locate
from flare_local.retrieval.lucene_errors import REBUILD, explain
from flare_local.retrieval.manifest import read_manifest
from flare_local.retrieval.open import open_index


def verify(path_or_name: str | Path) -> int:
    """Check all data of an index; returns the number of documents. Raises `IndexFault` that says what is wrong.

    Lucene's own CheckIndex reads every posting and stored text; for bm25s the documents must have the manifest's hash.
    """
    path = locate(path_or_name)
    with open_index(path) as index:
        count = index.count
    manifest = read_manifest(path)
    if manifest is not None and manifest.kind == "bm25s":
        _check_documents(path, count, manifest.content_sha256)
        return count
    java = java_thread()
    try:
        java.run(_check_lucene, path, java.jvm)
    except java.jvm.exception as error:
        raise explain(error, path, "check") from error
    return count


def _check_lucene(path: Path, machine: Jvm) -> None:
    autoclass = machine.autoclass
    directory = autoclass("org.apache.lucene.store.FSDirectory").open(
        autoclass("java.io.File")(str(path)).toPath(),
        autoclass("org.apache.lucene.store.NoLockFactory").INSTANCE,  # the folder may be read-only
    )
    checker = autoclass("org.apache.lucene.index.CheckIndex")(directory)
    try:
        status = checker.checkIndex()
        if not status.clean:
            raise IndexFault(f"The index {path} is corrupt: Lucene's CheckIndex found damage.", REBUILD)
    finally:
        checker.close()
        directory.close()


def _check_documents(path: Path, count: int, expected: str) -> None:
    from flare_local.retrieval.bm25s_store import DocumentStore

    digest = sha256()
    for identity, title, text in DocumentStore(path, count).passages():
        digest.update(f"{identity}\0{title}\0{text}\0".encode())
    if digest.hexdigest() != expected:
        raise IndexFault(f"The index {path} is corrupt: its documents are not those that were built.", REBUILD)
