"""BM25 on an OpenSearch or Elasticsearch server, asked as the paper's program asks it.

Source: released program (BEIR's Elasticsearch helper): `multi_match` over title and text, best field plus half of the
other (`tie_breaker` 0.5), `dfs_query_then_fetch`.
"""

import re
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Self

from flare_local.errors import IndexFault, UsageError
from flare_local.http.address import Address
from flare_local.http.client import Client, Limits
from flare_local.http.patience import Patience
from flare_local.http.secrets import login_from
from flare_local.retrieval.document import Document
from flare_local.retrieval.open import KINDS
from flare_local.retrieval.served_index import ServedIndex
from flare_local.spans import Kind, spanned

USER, PASSWORD = "FLARE_INDEX_USER", "FLARE_INDEX_PASSWORD"  # environment variables
TIE_BREAKER = 0.5  # paper's program
TITLE, TEXTS = "title", ("text", "txt")  # fields; `txt` is what BEIR's helper and so the paper's program wrote
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")  # of an index; what both servers allow, without what a path would misread
QUICK = Limits(silence_s=30.0, whole_s=60.0)
DEFAULT_PATIENCE = Patience()


@dataclass(frozen=True)
class Place:
    """An index on a server."""

    kind: str  # opensearch or elasticsearch
    server: Address
    index: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.server}/{self.index}"

    @classmethod
    def read(cls, text: str) -> "Place":
        """`opensearch:http://host:9200/my-index`; without the first word it is opensearch. Raises `UsageError`."""
        kind, colon, url = text.partition(":")
        if kind not in KINDS or not colon:
            kind, url = KINDS[0], text
        address = Address.read(url, f"--index {kind}:")
        path, _, name = address.path.rpartition("/")
        if not _NAME.fullmatch(name):
            raise UsageError(
                f"{kind}:{address} names no index (lower-case letters, digits, . _ -).", "Write URL/INDEX."
            )
        return cls(kind, Address(address.scheme, address.host, address.port, path), name)

    def client(self, patience: Patience = DEFAULT_PATIENCE) -> Client:
        """Talks to the server, with user and password of the environment."""
        return Client(f"The {self.kind} server", self.server, login_from(USER, PASSWORD), patience, QUICK)


class SearchServer(ServedIndex):
    """One index of one server. Made by `SearchServer.open`.

    Order: by score; equal scores by document id, among those that the server returned.
    """

    def __init__(self, place: Place, client: Client, text_field: str, titled: bool, manifest_hash: str) -> None:
        super().__init__(str(place), manifest_hash)
        self._place = place
        self._client = client
        self._text = text_field
        self._fields = [TITLE, text_field] if titled else [text_field]

    @classmethod
    def open(cls, name: str, *, patience: Patience = DEFAULT_PATIENCE) -> Self:
        """Opens `opensearch:URL/INDEX` or `elasticsearch:URL/INDEX`.

        Raises `UsageError`, `ServerFault`, and `IndexFault` where the index is absent or has no field of texts.
        """
        place = Place.read(name)
        client = place.client(patience)
        status, said = client.ask_json("GET", f"/{place.index}", allowed=(404,))
        if status == 404:
            raise IndexFault(f"{place} does not exist.", f"Load one: flare-local index load {place} CORPUS")
        about: dict[str, Any] = next(iter(said.values()), {})  # an alias is told by its index's name
        fields = about.get("mappings", {}).get("properties", {})
        text = next((field for field in TEXTS if field in fields), None)
        if text is None:
            raise IndexFault(f"{place} has no field {' or '.join(TEXTS)}.", "Load it with `flare-local index load`.")
        _, counted = client.ask_json("GET", f"/{place.index}/_count")
        settings = about.get("settings", {}).get("index", {})
        told = [settings.get("uuid"), counted.get("count"), sorted(fields)]
        return cls(place, client, text, TITLE in fields, sha256(repr(told).encode()).hexdigest())

    @spanned(Kind.SEARCH, "search server")
    def find(self, query: str, k: int) -> list[Document]:
        """The best `k` documents for a query, whose every sign is plain text."""
        asked = {
            "size": k,
            "query": {
                "multi_match": {
                    "query": query,
                    "type": "best_fields",
                    "fields": self._fields,
                    "tie_breaker": TIE_BREAKER,
                }
            },
        }
        path = f"/{self._place.index}/_search?search_type=dfs_query_then_fetch"
        _, said = self._client.ask_json("POST", path, asked)
        try:
            if said.get("timed_out") or said.get("_shards", {}).get("failed"):
                raise self._client.fault("searched only a part of the index", "Look at its health: _cluster/health")
            hits = [self._document(hit) for hit in said["hits"]["hits"]]
        except (KeyError, TypeError, AttributeError, ValueError):
            raise self._client.fault("answered a search in an unknown form") from None
        best = sorted(hits, key=lambda hit: (-hit.score, hit.id))[:k]
        return [Document(hit.id, hit.title, hit.text, hit.score, rank) for rank, hit in enumerate(best, start=1)]

    def _document(self, hit: Any) -> Document:
        stored = hit["_source"]
        title, text = stored.get(TITLE) or "", stored.get(self._text) or ""
        return Document(str(hit["_id"]), str(title), str(text), float(hit["_score"]), 0)
