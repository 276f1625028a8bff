"""Where an index is: a folder, or a prebuilt index of Pyserini by its name."""

import os
from pathlib import Path

from flare_local.errors import IndexFault

BUILDING = ".flare-building"  # in the name of a folder in which an index is being built


def locate(path_or_name: str | Path) -> Path:
    """The folder of an index. A folder of that name wins over a prebuilt index.

    Raises `IndexFault` where there is neither; the text gives the command that fetches a prebuilt one.
    """
    path = Path(path_or_name).expanduser()
    try:
        if path.is_dir():
            return _complete(path)
        if path.exists():
            raise IndexFault(f"{path} is a file, not the folder of an index.", "Give the folder.")
    except (OSError, ValueError) as error:
        raise IndexFault(f"The index {str(path)!r} cannot be read: {error}.") from error
    name = str(path_or_name)
    if os.sep in name or name.startswith("."):
        raise IndexFault(f"There is no index at {path}.", "Build one: flare-local index build CORPUS --out DIR")
    return _prebuilt(name)


def pyserini_cache() -> Path:
    """Where Pyserini keeps the indexes it fetched: $PYSERINI_CACHE or ~/.cache/pyserini, then `indexes`."""
    return Path(os.environ.get("PYSERINI_CACHE") or Path.home() / ".cache" / "pyserini") / "indexes"


def _complete(path: Path) -> Path:
    if BUILDING in path.name:
        raise IndexFault(f"{path} is a half-built index.", "Build it again: flare-local index build CORPUS --out DIR")
    if not any(path.iterdir()):
        raise IndexFault(f"The folder {path} is empty: it holds no index.", "flare-local index build CORPUS --out DIR")
    return path


def _prebuilt(name: str) -> Path:
    """Pyserini unpacks to `<prefix>.<name>.<date>.<commit>.<md5>`; the prefix is index, lucene-index and the like."""
    cache = pyserini_cache()
    folders = sorted(cache.iterdir()) if cache.is_dir() else []
    found = [folder for folder in folders if folder.is_dir() and _names(folder.name, name)]
    if len(found) > 1:
        listed = ", ".join(str(folder) for folder in found)
        raise IndexFault(f"Several prebuilt indexes are called {name}: {listed}.", "Give the folder of one.")
    if found:
        return _complete(found[0])
    raise IndexFault(
        f"There is no folder {name!r}, and no prebuilt index of that name in {cache}.",
        "Build one with `flare-local index build CORPUS --out DIR`, or fetch a prebuilt one with: python -c "
        f"\"from pyserini.search.lucene import LuceneSearcher; LuceneSearcher.from_prebuilt_index('{name}')\"",
    )


def _names(folder: str, name: str) -> bool:
    _, found, rest = f".{folder}.".replace("-index.", ".").partition(f".{name}.")
    first = rest.split(".", 1)[0]
    return folder == name or (bool(found) and first[:2] == "20")  # a date follows, not another name: -slim, .dpr-nq
