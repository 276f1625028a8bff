"""Lists of documents: several searches made into one, and the documents that always stay in front."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain, zip_longest

from flare_local.retrieval.document import Document

Documents = tuple[Document, ...]


def interleaved(lists: Sequence[Sequence[Document]], k: int) -> Documents:
    """The best `k` of several ranked lists: first of each, second of each, and so on, none twice, ranks counted anew.

    Source: paper section 3.2.2 ("interleave the returned documents into a single ranking list").
    """
    if len(lists) == 1:
        return tuple(lists[0])
    turns = chain.from_iterable(zip_longest(*lists))
    merged = _without_repeats(document for document in turns if document is not None)
    return tuple(replace(document, rank=rank) for rank, document in enumerate(merged[:k], start=1))


def with_in_front(front: Documents, others: Documents) -> Documents:
    """`front`, and behind it the others that are not among it (released program, "first-keep")."""
    taken = {document.id for document in front if document.id}
    return front + tuple(document for document in others if document.id not in taken)


def _without_repeats(documents: Iterable[Document]) -> list[Document]:
    """By id; documents without an id are never the same."""
    taken: set[str] = set()
    kept = []
    for document in documents:
        if document.id not in taken:
            kept.append(document)
        taken |= {document.id} if document.id else set()
    return kept
