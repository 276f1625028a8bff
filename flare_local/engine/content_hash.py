"""sha256 of a file's content, read once: the result is kept in the cache folder by path, size and time of change."""

import hashlib
from pathlib import Path

from flare_local.engine.cache_folder import cache_folder, recall, remember


def content_hash(path: Path) -> str:
    """Hexadecimal sha256 of the file at `path`. About 1 to 2 seconds a GB the first time, nothing after that."""
    status = path.stat()
    identity = f"{path.resolve()}\n{status.st_size}\n{status.st_mtime_ns}"
    known = cache_folder() / "hashes" / hashlib.sha256(identity.encode()).hexdigest()
    if (found := recall(known)) is not None and len(found) == 64:
        return found
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    remember(known, digest)
    return digest
