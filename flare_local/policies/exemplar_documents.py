"""Exemplars with documents (paper, appendix B): each exemplar's question is searched once for an index, and kept.

What was found is kept in the cache folder under the hash of the index's manifest, so a rebuilt index is asked anew.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from hashlib import sha256
from typing import Protocol

from flare_local.engine.cache_folder import cache_folder, recall, remember
from flare_local.policies.prompt import one_line
from flare_local.retrieval.document import Document
from flare_local.tasks.exemplars import Exemplar, Exemplars


class KnownIndex(Protocol):
    """An index that says which one it is."""

    manifest_hash: str

    def search_now(self, queries: Sequence[str], k: int) -> list[list[Document]]: ...


def with_documents(exemplars: Exemplars, index: KnownIndex, k: int, ranking: str) -> Exemplars:
    """`exemplars`, where those without documents have what the index finds for their questions.

    `ranking`: whatever else decides what is found, in words.
    """
    bare = [exemplar for exemplar in exemplars.examples if not exemplar.documents]
    found = dict(zip(bare, _found([one_line(e.question) for e in bare], index, k, ranking), strict=True))
    return replace(exemplars, examples=tuple(_with(exemplar, found.get(exemplar)) for exemplar in exemplars.examples))


def _with(exemplar: Exemplar, documents: tuple[Document, ...] | None) -> Exemplar:
    return exemplar if documents is None else replace(exemplar, documents=documents)


def _found(questions: list[str], index: KnownIndex, k: int, ranking: str) -> list[tuple[Document, ...]]:
    key = json.dumps([index.manifest_hash, ranking, k, questions])
    place = cache_folder() / "exemplars" / f"{sha256(key.encode()).hexdigest()[:32]}.json"
    if known := _read(recall(place), index.manifest_hash, len(questions)):
        return known
    found = [tuple(documents) for documents in index.search_now(questions, k)] if questions else []
    kept = {"manifest_hash": index.manifest_hash, "found": [[asdict(d) for d in documents] for documents in found]}
    remember(place, json.dumps(kept))
    return found


def _read(text: str | None, manifest_hash: str, count: int) -> list[tuple[Document, ...]] | None:
    """What an earlier run kept; None where nothing can be read."""
    try:
        kept = json.loads(text or "")
        found = [tuple(Document(**document) for document in documents) for documents in kept["found"]]
        return found if kept["manifest_hash"] == manifest_hash and len(found) == count else None
    except (ValueError, KeyError, TypeError):
        return None
