"""A fixed pool of Python threads for Java calls, detached from the JVM when the pool is closed.

`ThreadPoolExecutor` has no hook at a thread's end, and 2,000 short-lived threads were seen to leave 2,016 attached.
"""

import atexit
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any, ParamSpec, TypeVar

from flare_local.retrieval.jvm import Jvm

P = ParamSpec("P")
T = TypeVar("T")
JOIN_SECONDS = 1.0  # at exit: a search takes milliseconds, and Ctrl-C must end the program within 2 s

_Job = tuple[Future[Any], Callable[[], Any]]


class JavaThreads:
    """`count` daemon threads that run what is submitted. Safe to use from any thread."""

    def __init__(self, jvm: Jvm, count: int) -> None:
        self._jvm = jvm
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._closing = threading.Lock()
        self._open = True
        self._threads = [
            threading.Thread(target=_work, args=(self._jobs, jvm), name=f"flare-java-{number}", daemon=True)
            for number in range(count)
        ]
        for thread in self._threads:
            thread.start()
        _pools.add(self)

    def submit(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> "Future[T]":
        """Run `function` on one of the threads. Raises `JavaError` in a forked child, where no thread is alive."""
        self._jvm.check_process()
        future: Future[T] = Future()
        with self._closing:
            if not self._open:
                raise RuntimeError("the pool is closed")
            self._jobs.put((future, lambda: function(*args, **kwargs)))
        return future

    def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `function` on one of the threads and wait. The wait can be interrupted by Ctrl-C, Java could not."""
        return self.submit(function, *args, **kwargs).result()

    def close(self, timeout: float | None = None) -> None:
        """Let the threads finish what was submitted, detach and end."""
        with self._closing:
            if not self._open:
                return
            self._open = False
        for _ in self._threads:
            self._jobs.put(None)
        for thread in self._threads:
            thread.join(timeout)


_pools: "weakref.WeakSet[JavaThreads]" = weakref.WeakSet()


def _work(jobs: "SimpleQueue[_Job | None]", jvm: Jvm) -> None:
    try:
        while (job := jobs.get()) is not None:
            future, function = job
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(function())
            except BaseException as error:
                future.set_exception(error)
            del job, future, function  # an idle thread must not keep the last result alive
    finally:
        jvm.detach()


@atexit.register
def _close_all() -> None:
    for pool in list(_pools):
        try:
            pool._jvm.check_process()
        except Exception:
            return
        pool.close(JOIN_SECONDS)
