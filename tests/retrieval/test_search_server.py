"""OpenSearch and Elasticsearch, by a conformance server: the paper's search, loads that go on where they stopped."""

import asyncio
import json
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path

import pytest

from flare_local.errors import CorpusError, IndexFault, ServerFault, UsageError
from flare_local.http.patience import Patience
from flare_local.retrieval.search_server import Place, SearchServer
from flare_local.retrieval.search_server_load import BATCH, load_corpus
from tests.loopback import Faults, Said, serving
from tests.retrieval.search_cluster import SearchCluster

QUICK = Patience(tries=3, first_s=0.01)
TEXTS = {"a": ("Bridge", "The harbour bridge"), "b": ("Tower", "A tower near the bridge"), "c": ("", "Nothing of it")}


@pytest.fixture
def cluster() -> SearchCluster:
    return SearchCluster()


@pytest.fixture
def place(cluster: SearchCluster) -> Iterator[str]:
    with serving(cluster) as url:
        yield f"opensearch:{url}/texts"


def corpus(folder: Path, rows: dict[str, tuple[str, str]]) -> Path:
    path = folder / "corpus.jsonl"
    path.write_text("".join(json.dumps({"id": i, "title": t, "text": x}) + "\n" for i, (t, x) in rows.items()))
    return path


def many(count: int) -> dict[str, tuple[str, str]]:
    return {f"d{number}": (f"title {number}", f"text number {number}") for number in range(count)}


def test_what_was_loaded_is_found(place: str, cluster: SearchCluster, tmp_path: Path) -> None:
    report = load_corpus(place, corpus(tmp_path, TEXTS), patience=QUICK)
    assert (report.read, report.sent, report.documents) == (3, 3, 3)
    with SearchServer.open(place, patience=QUICK) as index:
        both, none, blank = asyncio.run(index.search(['"harbour bridge" AND (', "zebra", " "], 2))
    assert [(d.id, d.title, d.text, d.rank) for d in both] == [
        ("a", "Bridge", "The harbour bridge", 1),
        ("b", "Tower", "A tower near the bridge", 2),
    ]
    assert (none, blank) == ([], [])


def test_a_search_is_the_papers(place: str, cluster: SearchCluster, tmp_path: Path) -> None:
    load_corpus(place, corpus(tmp_path, TEXTS), patience=QUICK)
    with SearchServer.open(place, patience=QUICK) as index:
        index.search_now(["bridge"], 2)
    match = {"query": "bridge", "type": "best_fields", "fields": ["title", "text"], "tie_breaker": 0.5}
    assert cluster.queries == [{"size": 2, "query": {"multi_match": match}}]
    assert cluster.paths[-1] == "/texts/_search?search_type=dfs_query_then_fetch"
    assert cluster.mappings["texts"]["properties"]["text"]["analyzer"] == "english"


def test_an_index_of_the_papers_program_is_searched_in_its_own_field(place: str, cluster: SearchCluster) -> None:
    cluster.indexes["texts"] = {"7": {"title": "Bridge", "txt": "Of the harbour"}}
    cluster.mappings["texts"] = {"properties": {"title": {}, "txt": {}}}
    with SearchServer.open(place, patience=QUICK) as index:
        assert index.search_now(["harbour"], 1)[0][0].text == "Of the harbour"


def test_equal_scores_are_ordered_by_id(place: str, tmp_path: Path) -> None:
    load_corpus(
        place, corpus(tmp_path, {"z": ("", "bridge"), "m": ("", "bridge"), "a": ("", "bridge")}), patience=QUICK
    )
    with SearchServer.open(place, patience=QUICK) as index:
        assert [document.id for document in index.search_now(["bridge"], 3)[0]] == ["a", "m", "z"]


def test_a_load_that_broke_off_sends_only_what_is_not_there(place: str, cluster: SearchCluster, tmp_path: Path) -> None:
    path = corpus(tmp_path, many(3 * BATCH + 7))
    cluster.dies_after = 2 * BATCH
    with pytest.raises(ServerFault, match="503"):
        load_corpus(place, path, patience=QUICK)
    cluster.dies_after = None
    report = load_corpus(place, path, patience=QUICK)
    assert (report.read, report.sent) == (3 * BATCH + 7, BATCH + 7)
    assert cluster.bulked == 3 * BATCH + 7
    assert load_corpus(place, path, patience=QUICK).sent == 0


def test_a_document_that_changed_is_sent_again(place: str, cluster: SearchCluster, tmp_path: Path) -> None:
    load_corpus(place, corpus(tmp_path, TEXTS), patience=QUICK)
    report = load_corpus(place, corpus(tmp_path, TEXTS | {"b": ("Tower", "Another text")}), patience=QUICK)
    assert report.sent == 1
    assert cluster.indexes["texts"]["b"]["text"] == "Another text"


def test_documents_that_found_no_room_are_sent_again(place: str, cluster: SearchCluster, tmp_path: Path) -> None:
    cluster.full_every = 100
    load_corpus(place, corpus(tmp_path, many(BATCH)), patience=Patience(tries=10, first_s=0.01))
    assert len(cluster.indexes["texts"]) == BATCH
    assert cluster.bulked < BATCH + 20


def test_a_document_that_is_refused_is_named(place: str, cluster: SearchCluster, tmp_path: Path) -> None:
    cluster.refuses = "b"
    with pytest.raises(ServerFault, match="refused the document 'b': no room for b"):
        load_corpus(place, corpus(tmp_path, TEXTS), patience=QUICK)


def test_an_index_with_other_documents_is_told(place: str, tmp_path: Path) -> None:
    load_corpus(place, corpus(tmp_path, TEXTS), patience=QUICK)
    with pytest.raises(IndexFault, match="4 documents, the corpus 1"):
        load_corpus(place, corpus(tmp_path, {"new": ("", "text")}), patience=QUICK)


def test_an_index_of_others_is_left_alone(place: str, cluster: SearchCluster, tmp_path: Path) -> None:
    cluster.indexes["texts"], cluster.mappings["texts"] = {}, {"properties": {"body": {}}}
    with pytest.raises(IndexFault, match="not made by this program"):
        load_corpus(place, corpus(tmp_path, TEXTS), patience=QUICK)
    with pytest.raises(IndexFault, match="no field text or txt"):
        SearchServer.open(place, patience=QUICK)


def test_broken_entries_stop_a_load_or_are_left_out(place: str, tmp_path: Path) -> None:
    path = corpus(tmp_path, TEXTS)
    path.write_text(path.read_text() + "{broken\n")
    with pytest.raises(CorpusError, match="line 4"):
        load_corpus(place, path, patience=QUICK)
    assert len(load_corpus(place, path, skip_bad=True, patience=QUICK).skipped) == 1


def test_an_absent_index_is_told_with_the_command_that_loads_it(place: str) -> None:
    with pytest.raises(IndexFault, match="flare-local index load"):
        SearchServer.open(place, patience=QUICK)


def test_the_hash_changes_with_the_documents(place: str, tmp_path: Path) -> None:
    hashes = []
    for rows in (TEXTS, TEXTS, TEXTS | {"d": ("", "One more")}):
        load_corpus(place, corpus(tmp_path, rows), patience=QUICK)
        with SearchServer.open(place, patience=QUICK) as index:
            hashes.append(index.manifest_hash)
    assert hashes[0] == hashes[1] != hashes[2]


ODD = [
    Said(body=b"[]"),
    Said(body=b'{"hits": 3}'),
    Said(body=b'{"hits": {"hits": [{"_id": "a", "_score": null, "_source": {}}]}}'),
    Said(body=b'{"timed_out": true, "hits": {"hits": []}}'),
    Said(body=b'{"_shards": {"failed": 1}, "hits": {"hits": []}}'),
    Said(400, b"no"),
    Said(302, headers={"Location": "http://169.254.169.254/"}),
]


@pytest.mark.parametrize("said", ODD, ids=range(len(ODD)))
def test_odd_answers_are_refused(said: Said, cluster: SearchCluster, tmp_path: Path) -> None:
    server = Faults(cluster)
    with serving(server) as url:
        place = f"elasticsearch:{url}/texts"
        load_corpus(place, corpus(tmp_path, TEXTS), patience=QUICK)
        with SearchServer.open(place, patience=QUICK) as index:
            server.faults = [said]
            with pytest.raises(ServerFault):
                index.search_now(["bridge"], 2)


def test_a_huge_answer_is_refused(cluster: SearchCluster, tmp_path: Path) -> None:
    server = Faults(cluster)
    with serving(server) as url:
        load_corpus(f"{url}/texts", corpus(tmp_path, TEXTS), patience=QUICK)
        with SearchServer.open(f"opensearch:{url}/texts", patience=QUICK) as index:
            server.faults = [Said(body=(b" " * 2**20 for _ in range(64)))]
            with pytest.raises(ServerFault, match="more than 32 MiB"):
                index.search_now(["bridge"], 2)


def test_user_and_password_come_from_the_environment_and_are_never_shown(
    cluster: SearchCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLARE_INDEX_USER", "ada")
    monkeypatch.setenv("FLARE_INDEX_PASSWORD", "very-secret")
    server = Faults(cluster)
    with serving(server) as url:
        load_corpus(f"opensearch:{url}/texts", corpus(tmp_path, TEXTS), patience=QUICK)
        sent = {asked.headers["Authorization"] for asked in server.asked}
        assert sent == {"Basic " + b64encode(b"ada:very-secret").decode()}
        with SearchServer.open(f"opensearch:{url}/texts", patience=QUICK) as index:
            server.faults = [Said(401, b"wrong: very-secret")]
            with pytest.raises(ServerFault, match=r"\*\*\*") as told:
                index.search_now(["bridge"], 2)
            assert "very-secret" not in str(told.value) + repr(index.__dict__)


def test_half_a_login_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLARE_INDEX_USER", "ada")
    with pytest.raises(UsageError, match="FLARE_INDEX_PASSWORD"):
        SearchServer.open("opensearch:http://127.0.0.1:9/texts")


@pytest.mark.parametrize(
    "name",
    ["opensearch:http://h", "opensearch:http://h/_all", "opensearch:http://h/A", "http://h/a,b", "opensearch:h/i"],
)
def test_what_names_no_index_is_refused(name: str) -> None:
    with pytest.raises(UsageError):
        Place.read(name)


def test_an_index_may_lie_behind_a_path(tmp_path: Path) -> None:
    place = Place.read("elasticsearch:https://host.example:9243/es/my-texts")
    assert (place.kind, place.index, str(place.server)) == ("elasticsearch", "my-texts", "https://host.example:9243/es")
