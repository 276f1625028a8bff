"""Fixtures of the retrieval tests: indexes that are only read are built once."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from flare_local.retrieval.lucene import LuceneIndex
from tests.retrieval.builders import ROWS, built, built_by_anserini


@pytest.fixture(scope="session")
def index_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Our Lucene index of `ROWS`; not to be changed."""
    return built(tmp_path_factory.mktemp("lucene"))


@pytest.fixture(scope="session")
def bm25s_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Our bm25s index of `ROWS`; not to be changed."""
    return built(tmp_path_factory.mktemp("bm25s"), kind="bm25s")


@pytest.fixture(scope="session")
def anserini_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index of `ROWS` that Anserini built, with raw JSON and nothing of ours."""
    rows = [{"id": row["id"], "contents": f"{row['title']}\n{row['text']}".strip()} for row in ROWS]
    return built_by_anserini(tmp_path_factory.mktemp("anserini"), rows, "-storeRaw")


@pytest.fixture(scope="session")
def index(index_path: Path) -> Iterator[LuceneIndex]:
    """The open index of `ROWS`."""
    with LuceneIndex.open(index_path) as opened:
        yield opened
