"""The one Python thread of this process that calls Java.

Why one: pyjnius keeps the receiver of a call in an object shared by all instances of a class, so two threads that
call methods of two instances of one class can hit each other's; and a Python thread that touched Java stays attached
to the JVM after its death (2,000 short threads left 2,016). Lucene's own threads make searches parallel instead.
"""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any, ParamSpec, TypeVar

from flare_local.retrieval import jvm

P = ParamSpec("P")
T = TypeVar("T")

_Job = tuple[Future[Any], Callable[[], Any]]


class JavaThread:
    """A daemon thread that runs what is submitted, in order. Safe to use from any thread, not in a forked child."""

    def __init__(self, machine: jvm.Jvm) -> None:
        self.jvm = machine
        self._jobs: SimpleQueue[_Job] = SimpleQueue()
        threading.Thread(target=_work, args=(self._jobs,), name="flare-java", daemon=True).start()

    def submit(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> "Future[T]":
        """Run `function` on the thread. Raises `JavaError` in a forked child, where the thread does not exist."""
        self.jvm.check_process()
        future: Future[T] = Future()
        self._jobs.put((future, lambda: function(*args, **kwargs)))
        return future

    def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `function` on the thread and wait. Ctrl-C interrupts the wait; Java itself cannot be interrupted."""
        return self.submit(function, *args, **kwargs).result()


_thread: JavaThread | None = None
_lock = threading.Lock()


def java_thread(memory: str | None = None) -> JavaThread:
    """The thread, made (and Java started) when first asked for. `memory` and errors: see `jvm.start`."""
    global _thread
    machine = jvm.start(memory)
    with _lock:
        _thread = _thread or JavaThread(machine)
    return _thread


def _work(jobs: "SimpleQueue[_Job]") -> None:
    while True:
        future, function = jobs.get()
        if future.set_running_or_notify_cancel():
            try:
                future.set_result(function())
            except BaseException as error:
                future.set_exception(error)
        del future, function  # an idle thread must not keep the last result alive
