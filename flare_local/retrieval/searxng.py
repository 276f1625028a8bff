"""The open web through the user's own SearXNG. The paper searched with Bing, whose API was retired in August 2025.

Source: paper, appendix B: five documents of the open web, without the domains of table 8; the released program shows
the snippets of the results.
"""

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlencode

from flare_local.errors import UsageError
from flare_local.http.address import Address
from flare_local.http.client import Client, Limits
from flare_local.http.patience import Patience
from flare_local.http.public import PublicWeb, Unfetched
from flare_local.http.secrets import login_from
from flare_local.retrieval.document import Document
from flare_local.retrieval.excluded import Excluded
from flare_local.retrieval.open import Shown
from flare_local.retrieval.page_text import best_passage, plain, text_of_html
from flare_local.retrieval.search_server import PASSWORD, USER
from flare_local.retrieval.served_index import ServedIndex
from flare_local.retrieval.web_cache import WebCache
from flare_local.spans import Kind, spanned

SCHEME = "searxng:"
RESULT_PAGES = 3  # of results asked for, until enough remain after those that are left out
LONGEST_PAGE = 200_000  # characters of a page's text that are kept
ASKED = {"format": "json", "language": "en-US", "safesearch": "0"}  # as the released program asked Bing
QUICK = Limits(silence_s=30.0, whole_s=60.0, largest=8 * 2**20)
DEFAULT_PATIENCE = Patience()
OPEN_WEB = PublicWeb()


@dataclass(frozen=True)
class Result:
    """One result of a search."""

    url: str
    title: str
    snippet: str
    score: float


class Searxng(ServedIndex):
    """The web as an index. Made by `Searxng.open`. Order: that of the results; the same URL is never shown twice."""

    def __init__(
        self, client: Client, shown: Shown, excluded: Excluded, cache: WebCache | None, web: PublicWeb
    ) -> None:
        told = [str(client.address), shown, excluded.domains, ASKED]
        super().__init__(f"{SCHEME}{client.address}", sha256(repr(told).encode()).hexdigest())
        self._client = client
        self._shown = shown
        self._excluded = excluded
        self._cache = cache
        self._web = web

    @classmethod
    def open(
        cls,
        name: str,
        *,
        shown: Shown = "snippets",
        excluded: str = "",
        cache: Path | None = None,
        patience: Patience = DEFAULT_PATIENCE,
        web: PublicWeb = OPEN_WEB,
    ) -> Self:
        """Opens `searxng:URL`. `shown`: the snippets of the results, or the fitting passage of each page; `excluded`:
        domains with commas between them; `cache`: sqlite file of all that was found and fetched.

        Nothing is asked yet. Raises `UsageError`, `IndexFault`, `DiskFull`.
        """
        if shown not in ("snippets", "pages"):
            raise UsageError(f"--web is {shown!r}.", "Give snippets or pages.")
        address = Address.read(name.removeprefix(SCHEME), f"--index {SCHEME}")
        client = Client("The SearXNG server", address, login_from(USER, PASSWORD), patience, QUICK)
        left_out = Excluded.read(excluded)
        return cls(client, shown, left_out, None if cache is None else WebCache(cache), web)

    @spanned(Kind.SEARCH, "web")
    def find(self, query: str, k: int) -> list[Document]:
        """At most `k` results for a query, those of excluded domains left out."""
        asked = self._excluded.in_query(" ".join(query.split()))
        results: dict[str, Result] = {}
        for page in range(1, RESULT_PAGES + 1):
            found = self._results(asked, page)
            for result in found:
                if not self._excluded.has(result.url):
                    results.setdefault(result.url, result)
            if len(results) >= k or not found:
                break
        documents: list[Document] = []
        for result in results.values():
            text = self._text(result, query)
            if text and len(documents) < k:
                documents.append(Document(result.url, result.title, text, result.score, len(documents) + 1))
            if len(documents) == k:
                break
        return documents

    def close(self) -> None:
        """End the threads, close the cache."""
        super().close()
        if self._cache is not None:
            self._cache.close()

    def _results(self, query: str, page: int) -> list[Result]:
        key = ("results", str(self._client.address), query, str(page))
        said = None if self._cache is None else self._cache.get(*key)
        if said is None:
            path = "/search?" + urlencode({"q": query, "pageno": page, **ASKED})
            status, answer = self._client.ask_json("GET", path, allowed=(403,))
            if status == 403:
                raise self._client.fault("does not answer in JSON (403)", "Add json to search.formats in settings.yml.")
            said = answer.get("results") if isinstance(answer, dict) else None
            if not isinstance(said, list):
                raise self._client.fault("answered a search in an unknown form")
            said = [[result.url, result.title, result.snippet, result.score] for result in map(_result, said) if result]
            if self._cache is not None and said:  # engines that were busy are asked again
                self._cache.put(said, *key)
        return [Result(*each) for each in said]

    def _text(self, result: Result, query: str) -> str:
        """What is shown of a result: its snippet, also where its page cannot be read."""
        if self._shown == "snippets":
            return result.snippet
        text = self._page(result.url)
        return best_passage(text, query) if text else result.snippet

    def _page(self, url: str) -> str:
        known = None if self._cache is None else self._cache.get("page", url)
        if known is not None:
            return str(known)
        try:
            page = self._web.fetch(url, self._excluded.has)
        except Unfetched:
            return ""  # not kept: it may be there the next time
        text = (text_of_html(page.text) if "html" in page.kind else plain(page.text))[:LONGEST_PAGE]
        if self._cache is not None:
            self._cache.put(text, "page", url)
        return text


def _result(said: Any) -> Result | None:
    """A result as SearXNG writes it; None for one without a URL of the web."""
    if not isinstance(said, dict) or not str(said.get("url", "")).startswith(("http://", "https://")):
        return None
    score = said.get("score")
    return Result(
        str(said["url"]),
        plain(str(said.get("title") or "")).replace("\n", " "),
        plain(str(said.get("content") or "")).replace("\n", " "),
        float(score) if isinstance(score, int | float) else 0.0,
    )
