"""Fetches pages of the open web, and of nothing else: addresses of this machine and its networks are never called.

Every host is resolved here, each of its addresses is looked at, and the connection goes to one that was looked at, so
that no second answer of a name server can lead elsewhere. Redirects are followed one by one by the same rule.
"""

import http.client
import ipaddress
import socket
import ssl
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import quote, urljoin, urlsplit

from flare_local import __version__
from flare_local.http.address import PORTS

REDIRECTS = 4  # followed for one page
LARGEST_PAGE = 2 * 2**20  # bytes read of one page; the rest is left
PAGE_S = 15.0  # for one page, redirects included
SILENCE_S = 8.0
READ = ("text/html", "application/xhtml+xml", "text/plain")
Resolve = Callable[[str, int], list[str]]


class Unfetched(Exception):
    """A page that is not fetched, and why."""


@dataclass(frozen=True)
class Page:
    """What came of a URL."""

    url: str  # the last one, after redirects
    kind: str  # text/html and the like
    text: str  # decoded


def addresses_of(host: str, port: int) -> list[str]:
    """What the system's resolver says. Raises `Unfetched`."""
    try:
        return [str(found[4][0]) for found in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
    except (OSError, UnicodeError):
        raise Unfetched("its host is not known") from None


def is_public(address: str) -> bool:
    """Whether an IP address belongs to the open internet; addresses that hold another in them are judged by that."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(found, ipaddress.IPv6Address):
        inner = found.ipv4_mapped or found.sixtofour or (found.teredo and found.teredo[1])
        if inner:
            return is_public(str(inner))
        if found in ipaddress.ip_network("64:ff9b::/96"):  # NAT64
            return is_public(str(ipaddress.IPv4Address(int(found) & 0xFFFFFFFF)))
    return found.is_global and not found.is_multicast


@dataclass(frozen=True)
class PublicWeb:
    """Fetches pages. `resolve` and `allowed` are for tests, whose servers are on this machine."""

    resolve: Resolve = addresses_of
    allowed: Callable[[str], bool] = is_public
    ports: tuple[int, ...] = tuple(PORTS.values())

    def fetch(self, url: str, refuses: Callable[[str], bool] = lambda _: False) -> Page:
        """The page at `url`. `refuses`: URLs that must not be fetched, asked before every request.

        Raises `Unfetched` for anything but a text of the open web, read within its limits.
        """
        ends = time.monotonic() + PAGE_S
        for _ in range(REDIRECTS + 1):
            if refuses(url):
                raise Unfetched("it lies on a domain that is left out")
            answer = self._once(url, ends)
            if isinstance(answer, Page):
                return answer
            url = urljoin(url, answer)
        raise Unfetched(f"it redirects more than {REDIRECTS} times")

    def _once(self, url: str, ends: float) -> Page | str:
        """A page, or where it redirects to."""
        try:
            parts = urlsplit(url)
            port = parts.port or PORTS.get(parts.scheme, 0)
            host = (parts.hostname or "").encode("idna").decode()
        except (ValueError, UnicodeError):
            raise Unfetched("its URL is broken") from None
        if parts.scheme not in PORTS or not host or port not in self.ports or "@" in parts.netloc:
            raise Unfetched("its URL is none of the open web")
        addresses = self.resolve(host, port)
        if not addresses or not all(self.allowed(address) for address in addresses):
            raise Unfetched("its host is on this machine or a private network")
        connection = _Pinned(host, port, addresses[0], parts.scheme == "https")
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        try:
            connection.request("GET", _ascii(path), headers=_HEADERS)
            return self._read(url, connection.getresponse(), ends)
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise Unfetched(f"it cannot be read ({type(error).__name__})") from None
        finally:
            connection.close()

    def _read(self, url: str, response: http.client.HTTPResponse, ends: float) -> Page | str:
        if response.status in (301, 302, 303, 307, 308) and (to := response.getheader("Location")):
            return to
        if response.status != 200:
            raise Unfetched(f"status {response.status}")
        kind = response.headers.get_content_type()
        if kind not in READ or response.getheader("Content-Encoding", "identity") != "identity":
            raise Unfetched(f"it is no text ({kind})")
        body = bytearray()
        while len(body) < LARGEST_PAGE and (part := response.read1(min(65536, LARGEST_PAGE - len(body)))):
            body += part
            if time.monotonic() > ends:
                raise Unfetched(f"it takes more than {PAGE_S:g} s")
        charset = response.headers.get_content_charset() or "utf-8"
        with suppress(LookupError, ValueError):
            return Page(url, kind, bytes(body).decode(charset, "replace"))
        return Page(url, kind, bytes(body).decode("utf-8", "replace"))


_HEADERS = {
    "Accept": ", ".join(READ),
    "Accept-Encoding": "identity",
    "User-Agent": f"flare-local/{__version__}",
    "Connection": "close",
}


class _Pinned(http.client.HTTPConnection):
    """A connection to an address that was looked at; names and certificates are those of the host."""

    def __init__(self, host: str, port: int, address: str, secure: bool) -> None:
        super().__init__(host, port, timeout=SILENCE_S)
        self.default_port = PORTS["https" if secure else "http"]
        self._address = address
        self._secure = secure

    def connect(self) -> None:
        sock: socket.socket = socket.create_connection((self._address, self.port), SILENCE_S)
        if self._secure:
            sock = ssl.create_default_context().wrap_socket(sock, server_hostname=self.host)
        self.sock = sock


def _ascii(path: str) -> str:
    return quote(path, safe="/?&=%#:;,+~!$'()*@[]-._")
