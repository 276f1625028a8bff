"""All that answers questions, opened side by side: Java and the index on a thread of their own, the model on this."""

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from flare_local.cli import interrupt
from flare_local.cli.opening import Task, index_name, open_engines, open_retriever, with_exemplar_documents
from flare_local.cli.sources import Options
from flare_local.spans import Kind, span

if TYPE_CHECKING:
    from flare_local.engine.engine import Engine
    from flare_local.retrieval.index import Index
    from flare_local.served.model import ServedModel


def start(
    task: Task, options: Options, opened: ExitStack
) -> "tuple[Task, Index | None, Engine | ServedModel, Engine | None]":
    """The task with the documents of its exemplars, the index if the method searches, the model, the question model.

    `opened` closes them. An index that is not there is told before any library is imported.
    """
    if not task.method.retrieves:
        import_engine()
        return task, None, *open_engines(task, options, opened)
    with index_beside(lambda: open_retriever(options.retrieval), index_name(options.retrieval)) as beside:
        import_engine()
        beside.check()
        if options.method.exemplar_documents:  # they are part of the prompts that a snapshot must fit
            task = with_exemplar_documents(task, options, beside.result())
        engines = open_engines(task, options, opened)
        index = beside.result()
    opened.callback(index.close)
    return task, index, *engines


def import_engine() -> None:
    """Imports what takes seconds: here what the model needs, on a thread of its own what the first sentence needs."""
    threading.Thread(target=_import_punkt, name="flare-nltk", daemon=True).start()
    with span(Kind.IMPORTS, "torch and transformers"):
        import flare_local.engine.engine
        import flare_local.engine.self_check  # noqa: F401


def _import_punkt() -> None:
    with span(Kind.IMPORTS, "nltk"), suppress(ImportError):  # told when it is needed
        import nltk.tokenize.punkt  # noqa: F401


class Closes(Protocol):
    """What can be closed."""

    def close(self) -> None: ...


T = TypeVar("T", bound=Closes)


class Beside(Generic[T]):
    """Something that is opened on a thread of its own. The thread ends with the process, if it must."""

    def __init__(self, open_it: Callable[[], T]) -> None:
        self._open_it = open_it
        self._opened: T | None = None
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._work, name="flare-index", daemon=True)
        self._thread.start()

    def check(self) -> None:
        """Raises what went wrong so far."""
        if self._error is not None:
            raise self._error

    def result(self) -> T:
        """What was opened, or raises what went wrong."""
        self._thread.join()
        self.check()
        assert self._opened is not None
        return self._opened

    def drop(self) -> None:
        """Closes what was opened, once it is."""
        self._thread.join()
        if self._opened is not None:
            self._opened.close()

    def _work(self) -> None:
        try:
            self._opened = self._open_it()
        except BaseException as error:
            self._error = error


@contextmanager
def index_beside(open_it: Callable[[], T], path_or_name: str) -> Iterator[Beside[T]]:
    """Opens an index beside the block, which takes it; an error in the block closes it.

    Raises `IndexFault` at once for an index that is absent or half built.
    """
    from flare_local.retrieval.locate import locate
    from flare_local.retrieval.manifest import read_manifest
    from flare_local.retrieval.open import is_on_server

    if not is_on_server(path_or_name):
        with span(Kind.INDEX, "find it"):
            read_manifest(locate(path_or_name))
    beside = Beside(open_it)
    try:
        yield beside
    except Exception:  # whatever it is, it is raised again once the index is closed
        if not interrupt.received():  # else nobody has the patience
            beside.drop()
        raise
