"""What an answer was made with, for its trace. Reads the installed packages' metadata; imports none of them."""

import platform
from functools import cache
from importlib.metadata import PackageNotFoundError, version

PACKAGES = ("flare-local", "torch", "transformers", "nltk", "pyserini")


@cache
def versions() -> dict[str, str]:
    """Version of Python and of each package that can change an answer; packages that are absent are left out."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
