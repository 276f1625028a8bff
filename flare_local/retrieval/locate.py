"""Where an index is: a folder, or a prebuilt index of Pyserini by its name."""

import os
from pathlib import Path

from flare_local.errors import IndexFault
from flare_local.retrieval.prebuilt import find_prebuilt

BUILDING = ".flare-building"  # in the name of a folder in which an index is being built


def locate(path_or_name: str | Path) -> Path:
    """The folder of an index. A folder of that name wins over a prebuilt index.

    Raises `IndexFault` where there is neither; the text gives the command that fetches a prebuilt one.
    """
    try:
        path = Path(path_or_name).expanduser().absolute()  # Java keeps the working folder that it started in
        if path.is_dir():
            return _complete(path)
        if path.exists():
            raise IndexFault(f"{path} is a file, not the folder of an index.", "Give the folder.")
    except (OSError, ValueError, RuntimeError) as error:  # RuntimeError: no home folder for "~name"
        reason = getattr(error, "strerror", None) or error
        raise IndexFault(f"The index {str(path_or_name)!r} cannot be read: {reason}.") from error
    name = str(path_or_name)
    if os.sep in name or name.startswith("."):
        raise IndexFault(f"There is no index at {path}.", "Build one: flare-local index build CORPUS --out DIR")
    return _complete(find_prebuilt(name))


def _complete(path: Path) -> Path:
    if BUILDING in path.name:
        raise IndexFault(f"{path} is a half-built index.", "Build it again: flare-local index build CORPUS --out DIR")
    if not any(path.iterdir()):
        raise IndexFault(f"The folder {path} is empty: it holds no index.", "flare-local index build CORPUS --out DIR")
    return path
