"""The open web, by a conformance server that writes SearXNG's JSON as its documentation does, and a web of our own.

The server is not SearXNG. Pages lie on loopback too, which the program itself never fetches from: tests put other
answers of a name server in its place.
"""

import json
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from flare_local.errors import IndexFault, ServerFault, UsageError
from flare_local.http import public
from flare_local.http.patience import Patience
from flare_local.http.public import PublicWeb, Unfetched, is_public
from flare_local.retrieval.excluded import TABLE_8, Excluded
from flare_local.retrieval.page_text import best_passage, text_of_html
from flare_local.retrieval.searxng import Searxng
from flare_local.retrieval.web_cache import WebCache
from tests.loopback import Asked, Faults, Said, serving

QUICK = Patience(tries=2, first_s=0.01)
WIKI = "https://en.wikipedia.org/wiki/Bridge"


@dataclass
class Engines:
    """Answers `/search` with pages of results."""

    pages: list[list[dict[str, object]]]
    queries: list[dict[str, list[str]]] = field(default_factory=list)

    def __call__(self, asked: Asked) -> Said:
        query = parse_qs(urlsplit(asked.path).query)
        self.queries.append(query)
        number = int(query["pageno"][0])
        results = self.pages[number - 1] if number <= len(self.pages) else []
        return Said(body=json.dumps({"query": query["q"][0], "results": results}).encode())


def result(url: str, content: str = "A snippet.", title: str = "Title") -> dict[str, object]:
    return {"url": url, "title": title, "content": content, "score": 1.5, "engine": "some"}


def test_snippets_are_shown_in_the_order_of_the_results() -> None:
    engines = Engines(
        [[result("https://a.example/", " One\n <b> "), result("https://b.example/"), result("https://c.x/")]]
    )
    with serving(engines) as url, Searxng.open(f"searxng:{url}", patience=QUICK) as web:
        found = web.search_now(["who built  the bridge?"], 2)[0]
    assert [(d.id, d.text, d.rank) for d in found] == [
        ("https://a.example/", "One <b>", 1),
        ("https://b.example/", "A snippet.", 2),
    ]
    assert engines.queries == [
        {
            "q": ["who built the bridge?"],
            "pageno": ["1"],
            "format": ["json"],
            "language": ["en-US"],
            "safesearch": ["0"],
        }
    ]


def test_the_papers_domains_are_left_out_of_query_and_results() -> None:
    engines = Engines([[result(WIKI), result("https://wikiwand.com/x")], [result("http://notwikipedia.org/")]])
    with serving(engines) as url, Searxng.open(f"searxng:{url}", excluded=TABLE_8, patience=QUICK) as web:
        found = web.search_now(["bridge"], 1)[0]
    assert [document.id for document in found] == ["http://notwikipedia.org/"]
    operators = "-site:wikipedia.org -site:wikiwand.com -site:wiki2.org -site:wikimedia.org"
    assert [query["q"][0] for query in engines.queries] == [f"bridge {operators}"] * 2


@pytest.mark.parametrize(
    ("url", "left_out"),
    [
        (WIKI, True),
        ("https://WIKIPEDIA.org./", True),
        ("https://x@wikipedia.org/", True),
        ("https://wikipedia.org.example/", False),
        ("https://mywikipedia.org/", False),
        ("https://[broken", True),
        ("nothing", True),
    ],
)
def test_a_domain_is_left_out_with_its_subdomains(url: str, left_out: bool) -> None:
    assert Excluded.read(TABLE_8).has(url) == left_out


def test_a_wrong_domain_is_refused() -> None:
    with pytest.raises(UsageError, match="no domain"):
        Excluded.read("wikipedia.org, http://x/")


def test_results_are_kept_on_the_disk_by_the_final_query(tmp_path: Path) -> None:
    cache, engines = tmp_path / "web.sqlite", Engines([[result("https://a.example/")]])
    with serving(engines) as url:
        for excluded in ("", "", "b.org"):
            with Searxng.open(f"searxng:{url}", cache=cache, excluded=excluded, patience=QUICK) as web:
                assert web.search_now(["bridge"], 1)[0]
        assert len(engines.queries) == 2
    with Searxng.open(f"searxng:{url}", cache=cache, patience=QUICK) as web:  # the server is gone
        assert web.search_now(["bridge"], 1)[0]


def test_a_broken_cache_is_told(tmp_path: Path) -> None:
    (tmp_path / "web.sqlite").write_bytes(b"no base at all" * 100)
    with pytest.raises(IndexFault, match="cannot be used"):
        WebCache(tmp_path / "web.sqlite")


def test_json_that_is_not_switched_on_is_told_with_the_setting() -> None:
    with (
        serving(lambda _: Said(403, b"Forbidden", "text/html")) as url,
        Searxng.open(f"searxng:{url}", patience=QUICK) as web,
        pytest.raises(ServerFault, match=r"search\.formats"),
    ):
        web.search_now(["bridge"], 1)


@pytest.mark.parametrize("said", [Said(body=b"[]"), Said(body=b"<html>"), Said(500), Said(302), Said(body=b"{}")])
def test_odd_answers_are_refused(said: Said) -> None:
    server = Faults(Engines([]), [said] * 2)
    with (
        serving(server) as url,
        Searxng.open(f"searxng:{url}", patience=QUICK) as web,
        pytest.raises(ServerFault),
    ):
        web.search_now(["bridge"], 1)


def test_odd_results_are_passed_over() -> None:
    odd = [
        7,
        {},
        {"url": "javascript:alert(1)"},
        {"url": "file:///etc/passwd"},
        {"url": "https://a.example/", "score": "x"},
    ]
    engines = Engines([[*odd, result("https://b.example/")]])  # type: ignore[list-item]
    with serving(engines) as url, Searxng.open(f"searxng:{url}", patience=QUICK) as web:
        assert [document.id for document in web.search_now(["bridge"], 5)[0]] == ["https://b.example/"]


# --- pages ---

PAGE = "<html><head><title>T</title><script>alert(1)</script></head><body><nav>Menu</nav><p>Ada built the bridge.</p>"


@dataclass
class Site:
    """A web of one server, whose hosts are names for loopback."""

    port: int
    said: dict[str, Said]

    def web(self) -> PublicWeb:
        return PublicWeb(lambda host, port: ["127.0.0.1"], lambda address: True, (self.port,))

    def url(self, path: str = "/", host: str = "site.example") -> str:
        return f"http://{host}:{self.port}{path}"


@pytest.fixture
def site() -> Iterator[Site]:
    found = Site(0, {})
    with serving(lambda asked: found.said.get(asked.path, Said(404))) as url:
        found.port = urlsplit(url).port or 0
        yield found


def html(text: str, **more: object) -> Said:
    return Said(body=text.encode(), kind="text/html; charset=utf-8", **more)  # type: ignore[arg-type]


def test_pages_give_the_passage_that_the_query_asks_for(site: Site, tmp_path: Path) -> None:
    long = "<p>" + "word " * 400 + "</p><p>The bridge was built by Ada.</p><p>" + "other " * 400 + "</p>"
    site.said = {"/long": html(long), "/short": html(PAGE)}
    urls = [site.url("/long"), site.url("/short"), site.url("/absent")]
    engines = Engines([[result(url, "A snippet.") for url in urls]])
    with serving(engines) as url:
        for _ in range(2):
            with Searxng.open(
                f"searxng:{url}", shown="pages", cache=tmp_path / "c", patience=QUICK, web=site.web()
            ) as web:
                long_one, short_one, absent = web.search_now(["who built the bridge"], 3)[0]
            assert "The bridge was built by Ada." in long_one.text
            assert len(long_one.text.split()) == 100
            assert short_one.text == "Ada built the bridge."
            assert absent.text == "A snippet."
            site.said = {}  # the second time pages come from the cache


def test_redirects_are_followed_a_few_times_and_never_to_what_is_left_out(site: Site) -> None:
    site.said = {
        "/a": Said(302, headers={"Location": "/b"}),
        "/b": html(PAGE),
        "/loop": Said(302, headers={"Location": "/loop"}),
        "/wiki": Said(301, headers={"Location": WIKI}),
    }
    assert site.web().fetch(site.url("/a")).url == site.url("/b")
    with pytest.raises(Unfetched, match="more than 4"):
        site.web().fetch(site.url("/loop"))
    with pytest.raises(Unfetched, match="left out"):
        site.web().fetch(site.url("/wiki"), Excluded.read(TABLE_8).has)


PRIVATE = (  # noqa: SIM905
    "127.0.0.1 127.8.9.1 0.0.0.0 10.1.2.3 172.16.0.1 192.168.1.1 169.254.169.254 100.64.0.1 192.0.2.1 224.0.0.1 "
    "255.255.255.255 ::1 :: fe80::1 fe80::1%eth0 fc00::1 ff02::1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 64:ff9b::7f00:1 "
    "2002:7f00:1:: nonsense"
).split()


@pytest.mark.parametrize("address", PRIVATE)
def test_addresses_of_this_machine_and_its_networks_are_not_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", ["8.8.8.8", "1.1.1.1", "2606:4700:4700::1111", "::ffff:8.8.8.8"])
def test_addresses_of_the_internet_are_public(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "[::1]", "2130706433", "0x7f.1", "127.1", "0", "[::ffff:127.0.0.1]"]
)
def test_pages_are_never_fetched_from_this_machine_however_it_is_written(host: str, site: Site) -> None:
    site.said = {"/": html(PAGE)}
    with pytest.raises(Unfetched):
        PublicWeb(ports=(site.port, 80)).fetch(f"http://{host}:{site.port}/")


def test_a_redirect_to_a_private_network_is_not_followed(site: Site) -> None:
    site.said = {"/": Said(302, headers={"Location": f"http://inside.example:{site.port}/"})}
    hosts = {"site.example": "127.0.0.1", "inside.example": "127.0.0.2"}  # the first stands for the open web
    web = PublicWeb(lambda host, port: [hosts[host]], lambda address: address == "127.0.0.1", (site.port,))
    with pytest.raises(Unfetched, match="private network"):
        web.fetch(site.url("/"))


def test_a_host_with_one_private_address_is_not_called(site: Site) -> None:
    web = PublicWeb(lambda host, port: ["8.8.8.8", "127.0.0.1"], is_public, (site.port,))
    with pytest.raises(Unfetched, match="private network"):
        web.fetch(site.url())


def test_the_address_that_was_looked_at_is_the_one_that_is_called(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    called = []
    monkeypatch.setattr(socket, "create_connection", lambda address, timeout: called.append(address) or 1 / 0)
    with pytest.raises(ZeroDivisionError):
        PublicWeb(lambda host, port: ["8.8.8.8"]).fetch("http://rebound.example/")
    assert called == [("8.8.8.8", 80)]


@pytest.mark.parametrize(
    "url",
    [
        "ftp://a.example/",
        "file:///etc/passwd",
        "http://a.example:22/",
        "http://u:p@a.example/",
        "http://[x",
        "http:///",
    ],
)
def test_other_urls_are_not_fetched(url: str) -> None:
    with pytest.raises(Unfetched):
        PublicWeb(lambda host, port: ["8.8.8.8"]).fetch(url)


def test_what_is_no_text_is_not_read(site: Site) -> None:
    site.said = {
        "/pdf": Said(body=b"%PDF", kind="application/pdf"),
        "/zip": Said(body=b"x", kind="text/html", headers={"Content-Encoding": "gzip"}),
    }
    for path in site.said:
        with pytest.raises(Unfetched, match="no text"):
            site.web().fetch(site.url(path))


def test_a_huge_page_is_read_to_its_limit(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(public, "LARGEST_PAGE", 100_000)
    site.said = {"/": Said(body=(b"word " * 1000 for _ in range(10_000)), kind="text/plain")}
    assert len(site.web().fetch(site.url()).text) == 100_000


def test_a_page_that_drips_is_given_up(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    def drops() -> Iterator[bytes]:
        while True:
            time.sleep(0.05)
            yield b"x"

    monkeypatch.setattr(public, "PAGE_S", 0.3)
    site.said = {"/": Said(body=drops(), kind="text/html")}
    began = time.monotonic()
    with pytest.raises(Unfetched, match="takes more"):
        site.web().fetch(site.url())
    assert time.monotonic() - began < 2


@pytest.mark.parametrize("charset", ["latin-1", "no-such-charset", "utf-8"])
def test_any_charset_is_decoded(charset: str, site: Site) -> None:
    site.said = {
        "/": Said(
            body="Zürich".encode("latin-1" if charset == "latin-1" else "utf-8"), kind=f"text/html; charset={charset}"
        )
    }
    assert site.web().fetch(site.url()).text == "Zürich"


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (PAGE, "Ada built the bridge."),
        ("<p>a &lt;b&gt; &amp;amp; c</p>", "a <b> &amp; c"),
        ("<style>p{}</style><svg><text>no</text></svg>one<br>two", "one\ntwo"),
        ("<script>if (a < b) { '</p>' }</script>yes", "yes"),
        ("<head><title>x<body>still read", "still read"),
        ("a\x00\x1b[31mb\u202ec", "a[31mbc"),
        ("<", "<"),
        ("<![if x]>kept<![endif]>", "kept"),
    ],
)
def test_html_becomes_what_a_reader_sees(source: str, text: str) -> None:
    assert text_of_html(source).strip() == text


SLOW = ["<div", "<div>", "<nav>", "</svg>", "<!--", "<script>", '<a "', '<a ">"', "<", "&", "</", "<!", "&amp", '<p">']


@pytest.mark.parametrize("part", SLOW)
def test_pages_that_are_made_to_be_slow_are_read_in_time(part: str) -> None:
    began = time.process_time()
    text_of_html("<nav>" * 1000 + "<body>" + part * (2_000_000 // len(part)))
    text_of_html("<svg>" * 200_000 + "</nav>" * 100_000 + part * 100_000)
    assert time.process_time() - began < 20


def test_a_sign_that_looks_like_the_end_of_a_tag_may_stand_in_a_value() -> None:
    assert text_of_html('<a title="a > b" href=x>link</a><p>text') == "link\ntext"


def test_the_best_passage_is_the_earliest_with_the_most_words() -> None:
    text = " ".join(["one"] * 150 + ["bridge"] + ["two"] * 150 + ["bridge"] * 3 + ["three"] * 100)
    assert best_passage(text, "the bridge").split().count("bridge") == 1
    assert best_passage("short text", "x") == "short text"
