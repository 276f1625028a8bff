"""The embedded index: Lucene over the passages of the invented town, built once into the cache folder."""

import hashlib
import sys
from importlib.metadata import version
from pathlib import Path

from flare_local.engine.cache_folder import cache_folder
from flare_local.errors import FlareError

PASSAGES = Path(__file__).with_name("passages.jsonl")


def embedded_index() -> Path:
    """The index's folder, keyed by the passages and by the version of what reads it; built in seconds if absent.

    Raises what `build_index` raises: `JavaError`, `DiskFull`.
    """
    key = hashlib.sha256(PASSAGES.read_bytes() + version("pyserini").encode()).hexdigest()[:16]
    folder = cache_folder() / "embedded" / f"index-{key}"
    if not folder.is_dir():
        from flare_local.retrieval.build import build_index

        print(f"Building the embedded index in {folder} (once)", file=sys.stderr, flush=True)
        try:
            build_index(PASSAGES, folder)
        except FlareError:
            if not folder.is_dir():  # else another process has built it meanwhile
                raise
    return folder
