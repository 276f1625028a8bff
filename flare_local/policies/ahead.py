"""Searching ahead: while a draft is being written, the words so far are searched, and the model reads what they find.

Only proposals: the final query is always searched, and where it finds the same documents, they are read already.
"""

import asyncio
import contextlib
import time
from contextvars import copy_context

from flare_local.engine.call import WatchedModel
from flare_local.errors import FlareError
from flare_local.policies.answering import Answering
from flare_local.policies.found import Documents
from flare_local.policies.query import masked
from flare_local.policies.trigger import improbable
from flare_local.spans import Kind, beside, verb
from flare_local.trace.events import Foresight, Search, Writing

READ_AHEAD = 2  # lists of documents that the model reads for one draft at most: wrong ones cost a prefill each


class Ahead:
    """The proposals for one draft. Belongs to the event loop it was made in; only `_saw` runs on another thread."""

    def __init__(self, run: Answering) -> None:
        self._run = run
        self._loop = asyncio.get_running_loop()
        self._context = copy_context()  # the question's, not that of the engine's thread
        self._tokens: list[int] = []
        self._text = ""
        self._words = ""  # the query so far: tokens below beta left out
        self._grown = asyncio.Event()
        self._drafted = False
        self._searching: asyncio.Task[None] | None = None
        self._searches = 0
        self._began: dict[tuple[str, ...], float] = {}  # by ids of documents: when their reading began
        self._reading: dict[tuple[str, ...], asyncio.Task[float]] = {}  # and when it ended

    async def draft(self, documents: Documents, tokens: int) -> Writing:
        """The draft. With `Rules.search_ahead` proposals are made while it is written, if the model can be watched."""
        lm = self._run.lm
        if not self._run.rules.search_ahead or not isinstance(lm, WatchedModel):
            return await self._run.write(documents, tokens)
        lm.watch = self._saw
        try:
            return await self._run.write(documents, tokens)
        finally:
            lm.watch = None
            self._drafted = True
            self._grown.set()

    def foresight(self, search: Search | None) -> Foresight | None:
        """What came of it, told right after the final search; None where nothing was searched ahead."""
        self._stop()
        if search is None or not self._searches:
            return None
        ids, now = _ids(search.documents), time.perf_counter()
        if ids not in self._reading:
            return Foresight(self._searches, len(self._reading), False, 0.0)
        reading = self._reading[ids]
        ended = reading.result() if reading.done() and reading.exception() is None else now
        return Foresight(self._searches, len(self._reading), True, (ended - self._began[ids]) * 1000)

    async def settle(self) -> None:
        """Waits until nothing is being read any more, so that its cost is known to the end."""
        self._stop()
        await asyncio.gather(*self._reading.values(), return_exceptions=True)

    def _saw(self, token: int, probability: float) -> None:
        with contextlib.suppress(RuntimeError):  # the event loop is closed: nobody waits for this answer any more
            self._loop.call_soon_threadsafe(self._take, token, probability, context=self._context)

    def _take(self, token: int, probability: float) -> None:
        rules = self._run.rules
        self._tokens.append(token)
        text = self._run.lm.codec.decode(tuple(self._tokens))
        self._words += " " if masked(probability, rules) else text[len(self._text) :]
        self._text = text
        self._grown.set()
        if self._searching is None and improbable(probability, rules) and not self._drafted:
            self._searching = asyncio.ensure_future(self._propose())

    async def _propose(self) -> None:
        """Searches with the words so far, again and again as they grow, until the draft is there.

        What is found twice running is read, and what the last search finds.
        """
        beside("searched ahead")
        asked = ""
        last: tuple[str, ...] = ()
        with contextlib.suppress(FlareError):  # the final search will tell
            while not self._drafted and len(self._reading) < READ_AHEAD:
                self._grown.clear()
                words = self._words.strip()
                if not words or words == asked:
                    await self._grown.wait()
                    continue
                asked = words
                self._searches += 1
                found = (await self._run.search(words)).documents
                if _ids(found) == last or self._drafted:
                    self._read(found)
                last = _ids(found)

    def _read(self, documents: Documents) -> None:
        ids = _ids(documents)
        if documents and ids not in self._reading:
            self._began[ids] = time.perf_counter()
            self._reading[ids] = asyncio.ensure_future(self._read_ahead(documents))

    def _stop(self) -> None:
        if self._searching is not None:
            self._searching.cancel()

    async def _read_ahead(self, documents: Documents) -> float:
        """Returns when it was done."""
        beside("read ahead")
        assert isinstance(self._run.lm, WatchedModel)
        with verb(Kind.WAIT, "read ahead"):
            self._run.aside.add(await self._run.lm.read_ahead(self._run.sentence_prompt(documents)))
        return time.perf_counter()


def _ids(documents: Documents) -> tuple[str, ...]:
    return tuple(document.id for document in documents)
