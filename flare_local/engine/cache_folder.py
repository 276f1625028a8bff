"""The user's cache folder: converted models, content hashes, results of the self-check. Everything in it can go."""

import os
from pathlib import Path


def cache_folder() -> Path:
    """`$FLARE_CACHE`, else `~/.cache/flare_local`. It may not exist yet."""
    return Path(os.environ.get("FLARE_CACHE") or Path.home() / ".cache" / "flare_local").expanduser()


def remember(path: Path, text: str) -> None:
    """Writes a small file in one step; a cache that cannot be written is no error, the work is then done again."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_name(f"{path.name}.{os.getpid()}")
        beside.write_text(text, encoding="utf-8")
        beside.replace(path)
    except OSError:
        return


def recall(path: Path) -> str | None:
    """What `remember` wrote, or None."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
