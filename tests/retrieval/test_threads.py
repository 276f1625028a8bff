"""One index used by many threads and tasks at once gives each the answer it would have had alone."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from flare_local.errors import IndexFault
from flare_local.retrieval.document import Document
from flare_local.retrieval.java_thread import java_thread
from flare_local.retrieval.lucene import LuceneIndex
from tests.retrieval.builders import ROWS

QUERIES = [row["text"] for row in ROWS] + ["harbour", "", "ship", "🎻"]


def answers(index: LuceneIndex, k: int = 3) -> list[list[Document]]:
    return [index.search_now([query], k)[0] for query in QUERIES]


def test_threads_get_their_own_answers(index_path: Path, anserini_path: Path) -> None:
    with LuceneIndex.open(index_path, scoring="paper") as ours, LuceneIndex.open(anserini_path) as theirs:
        alone = {id(index): answers(index) for index in (ours, theirs)}
        with ThreadPoolExecutor(8) as pool:
            together = [(index, pool.submit(answers, index)) for _ in range(20) for index in (ours, theirs)]
        for index, future in together:
            assert future.result() == alone[id(index)]


def test_tasks_get_their_own_answers_whatever_their_k(index: LuceneIndex) -> None:
    async def all_at_once() -> list[list[list[Document]]]:
        return await asyncio.gather(*(index.search(QUERIES, 1 + number % 3) for number in range(30)))

    for number, found in enumerate(asyncio.run(all_at_once())):
        assert found == answers(index, 1 + number % 3)


def test_event_loops_may_come_and_go(index: LuceneIndex) -> None:
    results: list[list[list[Document]]] = []
    for _ in range(3):
        thread = threading.Thread(target=lambda: results.append(asyncio.run(index.search(["harbour"], 1))))
        thread.start()
        thread.join()
    assert results == [index.search_now(["harbour"], 1)] * 3


def test_a_cancelled_search_disturbs_no_other(index: LuceneIndex) -> None:
    async def cancel_one() -> list[list[Document]]:
        slow = asyncio.create_task(index.search([" ".join(f"w{n}" for n in range(5_000))] * 3, 1))
        await asyncio.sleep(0)
        slow.cancel()
        with pytest.raises(asyncio.CancelledError):
            await slow
        return await index.search(["harbour"], 1)

    assert asyncio.run(cancel_one())[0][0].id == "harbour"


def test_many_short_threads_leave_none_attached_to_java(index: LuceneIndex) -> None:
    java = java_thread()

    def attached() -> int:
        return int(java.jvm.autoclass("java.lang.Thread").activeCount())

    before = java.run(attached)
    for _ in range(100):
        thread = threading.Thread(target=index.search_now, args=(["harbour"], 1))
        thread.start()
        thread.join()
    assert java.run(attached) <= before + 1


def test_closing_waits_for_what_was_asked_before(index_path: Path) -> None:
    index = LuceneIndex.open(index_path)
    waiting = index._submit(["harbour"] * 50, 1)
    index.close()
    assert [future.result()[0].id for future in waiting] == ["harbour"] * 50
    with pytest.raises(IndexFault, match="was closed"):
        asyncio.run(index.search(["harbour"], 1))
