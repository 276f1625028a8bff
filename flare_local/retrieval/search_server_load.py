"""Loads a corpus into an OpenSearch or Elasticsearch index; broken off, it goes on with what is not there yet.

Each document carries a digest of its title and text. Before a batch is sent, the server is asked which of its documents
it has with the same digest; those are left out. So a load can be repeated at any time, and mends what differs.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

from flare_local.errors import CorpusError, IndexFault, UsageError
from flare_local.http.client import Client, Lost, Request
from flare_local.http.patience import AGAIN, Patience
from flare_local.retrieval.build import Progress, Stage
from flare_local.retrieval.corpus import DEFAULT_WORDS, Corpus
from flare_local.retrieval.corpus_source import Passage
from flare_local.retrieval.search_server import DEFAULT_PATIENCE, TEXTS, TITLE, Place

BATCH = 500  # documents of one request: about 400 kB
DIGEST = "digest"  # field
# Of a new index; the analyser is that of the paper's program, BM25 as the server has it (k1 1.2, b 0.75).
FIELDS = {
    TITLE: {"type": "text", "analyzer": "english"},
    TEXTS[0]: {"type": "text", "analyzer": "english"},
    DIGEST: {"type": "keyword", "index": False, "doc_values": False},
}


@dataclass(frozen=True)
class LoadReport:
    """What was loaded."""

    path: str
    read: int
    sent: int
    empty: int  # without text, left out
    skipped: tuple[str, ...]  # broken ones that were left out, the first of them
    documents: int  # that the index has now


def load_corpus(
    name: str,
    corpus: str | Path,
    *,
    words: int = DEFAULT_WORDS,
    skip_bad: bool = False,
    progress: Progress | None = None,
    patience: Patience = DEFAULT_PATIENCE,
) -> LoadReport:
    """Loads `corpus` into the index `name` ("opensearch:URL/INDEX"), which is made if it is not there.

    Raises `CorpusError` at the first broken entry unless `skip_bad`, `ServerFault`, `UsageError`, and `IndexFault`
    where the index was not made by this program or has other documents too.
    """
    if words < 1:
        raise UsageError(f"--words is {words}; it must be 1 or more.")
    place = Place.read(name)
    skipped: list[str] = []
    source = Corpus(corpus, words, skipped.append if skip_bad else None)
    client = place.client(patience)
    _make(client, place)
    read = sent = empty = 0
    for batch in _batches(source):
        filled = [passage for passage in batch if passage.text]
        empty += len(batch) - len(filled)
        read += len(filled)
        absent = _absent(client, place, filled)
        if absent:
            _send(client, place, absent)
            sent += len(absent)
        if progress is not None:
            progress(Stage(read, source.bytes_read, source.total_bytes))
    if not read:
        raise CorpusError(f"The corpus {source.path} holds no document with text.")
    client.ask_json("POST", f"/{place.index}/_refresh")
    count = int(client.ask_json("GET", f"/{place.index}/_count")[1]["count"])
    if count != read:
        raise IndexFault(
            f"{place} holds {count:,} documents, the corpus {read:,}: others were there before.",
            "Load it into a new index.",
        )
    return LoadReport(str(place), read, sent, empty, tuple(skipped[:20]), count)


def _make(client: Client, place: Place) -> None:
    """The index, if it is not there; one of another shape is refused, since nothing could be resumed in it."""
    status, said = client.ask_json("GET", f"/{place.index}", allowed=(404,))
    if status == 404:
        shape = {"mappings": {"dynamic": False, "properties": FIELDS}}
        client.ask_json("PUT", f"/{place.index}", shape, allowed=(400,))  # 400: another process was faster
        return
    about: dict[str, Any] = next(iter(said.values()), {})
    if FIELDS.keys() - about.get("mappings", {}).get("properties", {}).keys():
        raise IndexFault(f"{place} exists and was not made by this program.", "Load the corpus into a new index.")


def _absent(client: Client, place: Place, batch: list[Passage]) -> list[Passage]:
    if not batch:
        return []
    asked = {"docs": [{"_id": passage.id, "_source": [DIGEST]} for passage in batch]}
    _, said = client.ask_json("POST", f"/{place.index}/_mget", asked)
    try:
        known = {each["_id"]: each["_source"].get(DIGEST) for each in said["docs"] if each.get("found")}
    except (KeyError, TypeError, AttributeError):
        raise client.fault("answered a look-up in an unknown form") from None
    return [passage for passage in batch if known.get(passage.id) != _digest(passage)]


def _send(client: Client, place: Place, batch: list[Passage]) -> None:
    """Sends a batch; what the server had no room for at the moment is sent again."""
    left = batch

    def once(request: Request) -> None:
        nonlocal left
        body = "".join(_lines(passage) for passage in left).encode()
        reply = client.once(request, "POST", f"/{place.index}/_bulk", body, "application/x-ndjson")
        try:
            results = [next(iter(item.values())) for item in json.loads(reply.body)["items"]]
            statuses = [int(result["status"]) for result in results]
        except (ValueError, KeyError, TypeError, StopIteration):
            raise Lost("it answered a load in an unknown form") from None
        if len(statuses) != len(left):
            raise Lost(f"it answered for {len(statuses)} of {len(left)} documents")
        for passage, status, result in zip(left, statuses, results, strict=True):
            if status >= 300 and status not in AGAIN:
                raise client.fault(f"refused the document {passage.id!r}: {_reason(result)}")
        left = [passage for passage, status in zip(left, statuses, strict=True) if status in AGAIN]
        if left:
            raise Lost(f"it had no room for {len(left)} documents")

    client.trying(once)


def _lines(passage: Passage) -> str:
    stored = {TITLE: passage.title, TEXTS[0]: passage.text, DIGEST: _digest(passage)}
    return json.dumps({"index": {"_id": passage.id}}) + "\n" + json.dumps(stored) + "\n"


def _digest(passage: Passage) -> str:
    return blake2b(f"{passage.title}\0{passage.text}".encode(), digest_size=16).hexdigest()


def _reason(result: Any) -> str:
    error = result.get("error")
    return str(error.get("reason") if isinstance(error, dict) else error)[:200]


def _batches(source: Corpus) -> Iterator[list[Passage]]:
    batch: list[Passage] = []
    for passage in source:
        batch.append(passage)
        if len(batch) == BATCH:
            yield batch
            batch = []
    if batch:
        yield batch
