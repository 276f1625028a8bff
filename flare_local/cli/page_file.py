"""Where a command writes a page: whole or not at all, and over nothing but a page."""

import os
from pathlib import Path

from flare_local.errors import DiskFull, UsageError

BEGIN = b"<!DOCTYPE html>"


def check_page(path: Path) -> None:
    """Raises `UsageError` where `path` is something else than a page, or lies in no folder."""
    if not path.parent.is_dir():
        raise UsageError(f"The page {path} cannot be written: there is no folder {path.parent}.", "Name another file.")
    if path.is_dir():
        raise UsageError(f"{path} is a folder.", "Name a file for the page.")
    if path.is_file():
        with path.open("rb") as file:
            if file.read(len(BEGIN)) != BEGIN:
                raise UsageError(f"{path} is there already, and is no page.", "Name another file for the page.")


def write_page(path: Path, text: str) -> None:
    """The whole page or nothing. Raises `UsageError` as `check_page`, `DiskFull` where it cannot be written."""
    check_page(path)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_text(text, encoding="utf-8", errors="backslashreplace")
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise DiskFull(f"The page {path} cannot be written: {error.strerror}.", "Name another file.") from error
