"""A conformance server: the part of OpenSearch's and Elasticsearch's REST protocol that this program uses, as their
documentation writes it, over real sockets. It is neither of them: its ranking only counts shared words.
"""

import json
import re
from dataclasses import dataclass, field
from typing import Any

from tests.loopback import Asked, Said


@dataclass
class SearchCluster:
    """Indexes by name, documents by id."""

    indexes: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)
    mappings: dict[str, Any] = field(default_factory=dict)
    bulked: int = 0  # documents that came in by _bulk
    bulks: int = 0
    full_every: int = 0  # each so many documents one is refused with 429, once
    dies_after: int | None = None  # documents; then every request fails with 503
    refuses: str | None = None  # id of a document that is refused for good
    queries: list[dict[str, Any]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    _full: set[str] = field(default_factory=set)

    def __call__(self, asked: Asked) -> Said:
        self.paths.append(asked.path)
        if self.dies_after is not None and self.bulked >= self.dies_after:
            return Said(503, b"{}")
        _, name, *verb = asked.path.partition("?")[0].split("/")
        if asked.method == "PUT" and not verb:
            assert name not in self.indexes
            self.indexes[name], self.mappings[name] = {}, json.loads(asked.body)["mappings"]
            return _json({"acknowledged": True})
        if name not in self.indexes:
            return _json({"error": {"type": "index_not_found_exception"}, "status": 404}, 404)
        documents = self.indexes[name]
        if not verb:
            return _json({name: {"mappings": self.mappings[name], "settings": {"index": {"uuid": f"uuid-{name}"}}}})
        if verb == ["_count"]:
            return _json({"count": len(documents)})
        if verb == ["_refresh"]:
            return _json({})
        if verb == ["_mget"]:
            wanted = [each["_id"] for each in json.loads(asked.body)["docs"]]
            found = [{"_id": i, "found": i in documents, "_source": documents.get(i, {})} for i in wanted]
            return _json({"docs": found})
        if verb == ["_bulk"]:
            assert asked.headers["Content-Type"] == "application/x-ndjson"
            return self._bulk(documents, asked.body)
        assert verb == ["_search"]
        return self._search(documents, json.loads(asked.body))

    def _bulk(self, documents: dict[str, Any], body: bytes) -> Said:
        self.bulks += 1
        lines = [json.loads(line) for line in body.decode().splitlines()]
        items = []
        for action, source in zip(lines[::2], lines[1::2], strict=True):
            identity, status = action["index"]["_id"], 201
            self.bulked += 1
            if self.full_every and self.bulked % self.full_every == 0 and identity not in self._full:
                self._full.add(identity)
                status = 429
            elif identity == self.refuses:
                status = 400
            else:
                documents[identity] = source
            error = {} if status == 201 else {"error": {"reason": f"no room for {identity}"}}
            items.append({"index": {"_id": identity, "status": status, **error}})
        return _json({"errors": any(item["index"]["status"] != 201 for item in items), "items": items})

    def _search(self, documents: dict[str, Any], asked: dict[str, Any]) -> Said:
        self.queries.append(asked)
        match = asked["query"]["multi_match"]
        words = set(_words(match["query"]))
        hits = []
        for identity, source in documents.items():
            counts = sorted(sum(word in words for word in _words(source.get(f, ""))) for f in match["fields"])
            score = counts[-1] + match["tie_breaker"] * sum(counts[:-1])
            if score:
                hits.append({"_id": identity, "_score": score, "_source": source})
        hits.sort(key=lambda hit: -hit["_score"])
        return _json({"timed_out": False, "_shards": {"failed": 0}, "hits": {"hits": hits[: asked["size"]]}})


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def _json(said: Any, status: int = 200) -> Said:
    return Said(status, json.dumps(said).encode())
