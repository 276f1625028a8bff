"""Requests to one server: limited in time and size, tried again where that may help, redirects never followed.

Plain `http.client` on threads of its own: a request that is not wanted any more is cut off at its socket.
"""

import http.client
import json
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

from flare_local import __version__
from flare_local.errors import ServerFault
from flare_local.http.address import Address
from flare_local.http.patience import AGAIN, Patience, asked_wait
from flare_local.http.secrets import Credentials

T = TypeVar("T")
LARGEST = 32 * 2**20  # bytes of one answer
LONGEST_LINE = 2**20  # bytes of one line of a stream
SHOWN = 300  # characters of a server's own words in an error


@dataclass(frozen=True)
class Limits:
    """What a request may take."""

    silence_s: float = 120.0  # without a byte from the server
    whole_s: float = 600.0  # until the end of an answer
    largest: int = LARGEST


class Lost(Exception):
    """The connection broke or the server has trouble; the same request may succeed a moment later."""

    def __init__(self, reason: str, wait_s: float = 0.0) -> None:
        super().__init__(reason)
        self.wait_s = wait_s


class Cut(Exception):
    """This side cut the request off."""


@dataclass(frozen=True)
class Reply:
    """A complete answer."""

    status: int
    body: bytes


@dataclass(eq=False)
class Request:
    """One request on its way, and the means to cut it off from another thread."""

    connection: http.client.HTTPConnection | None = None
    gone: threading.Event = field(default_factory=threading.Event)

    def cut(self) -> None:
        """Ends it; the thread that waits for it sees `Cut`."""
        self.gone.set()
        sock = getattr(self.connection, "sock", None)
        if sock is not None:
            with suppress(OSError):
                sock.shutdown(2)


@dataclass(frozen=True)
class Client:
    """Talks to the server at `address`. `what` names it in errors ("The model server ...")."""

    what: str
    address: Address
    credentials: Credentials = field(default_factory=Credentials)
    patience: Patience = field(default_factory=Patience)
    limits: Limits = field(default_factory=Limits)

    def ask(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        kind: str = "application/json",
        allowed: tuple[int, ...] = (),
    ) -> Reply:
        """One request, tried again where that may help. Raises `ServerFault` for a status that is neither 2xx nor
        `allowed`, and where all tries failed.
        """
        return self.trying(lambda request: self.once(request, method, path, body, kind, allowed))

    def ask_json(self, method: str, path: str, body: object = None, allowed: tuple[int, ...] = ()) -> tuple[int, Any]:
        """As `ask`, with JSON both ways. An answer that is no JSON counts as a lost one."""

        def one(request: Request) -> tuple[int, Any]:
            sent = None if body is None else json.dumps(body).encode()
            reply = self.once(request, method, path, sent, "application/json", allowed)
            try:
                return reply.status, json.loads(reply.body)
            except ValueError:
                if reply.status in allowed:
                    return reply.status, None
                raise Lost("it answered with broken JSON") from None

        return self.trying(one)

    def lines(self, request: Request, path: str, body: object) -> Iterator[bytes]:
        """The lines of an answer while they come, one try. Raises `Lost`, `Cut` or `ServerFault`."""
        connection, response = self._send(request, "POST", path, json.dumps(body).encode(), "application/json")
        try:
            self._check(response, connection, ())
            while line := self._guarded(request, lambda: response.readline(LONGEST_LINE + 1)):
                if len(line) > LONGEST_LINE:
                    raise self.fault("sends lines without an end")
                yield line
        finally:
            connection.close()

    def trying(self, once: Callable[[Request], T], request: Request | None = None) -> T:
        """`once`, again after each `Lost` as often as patience allows; then `ServerFault`."""
        request = request or Request()
        waits = self.patience.waits()
        while True:
            try:
                return once(request)
            except Lost as lost:
                wait = next(waits, None)
                if wait is None:
                    raise self.fault(f"failed {self.patience.tries} times: {lost}") from None
                if request.gone.wait(max(wait, lost.wait_s)):
                    raise Cut from None

    def fault(self, what: str, remedy: str = "") -> ServerFault:
        """The error that says what is wrong with this server, without any secret."""
        return ServerFault(self.credentials.struck(f"{self.what} at {self.address} {what}."), remedy)

    def once(
        self, request: Request, method: str, path: str, body: bytes | None, kind: str, allowed: tuple[int, ...] = ()
    ) -> Reply:
        """One try of a request with a complete answer. Raises `Lost`, `Cut` or `ServerFault`."""
        connection, response = self._send(request, method, path, body, kind)
        try:
            self._check(response, connection, allowed)
            return Reply(response.status, self._body(request, response, self.limits.largest))
        finally:
            connection.close()

    def _send(
        self, request: Request, method: str, path: str, body: bytes | None, kind: str
    ) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        connection = self._connection()
        request.connection = connection
        if request.gone.is_set():
            raise Cut
        try:
            self._guarded(request, connection.connect)
            self._guarded(
                request, lambda: connection.request(method, self.address.path + path, body, self._headers(kind))
            )
            return connection, self._guarded(request, connection.getresponse)
        except BaseException:
            connection.close()
            raise

    def _connection(self) -> http.client.HTTPConnection:
        host, port, wait = self.address.host, self.address.port, self.limits.silence_s
        if self.address.scheme == "https":
            return http.client.HTTPSConnection(host, port, timeout=wait, context=ssl.create_default_context())
        return http.client.HTTPConnection(host, port, timeout=wait)

    def _headers(self, kind: str) -> Mapping[str, str]:
        own = {"Authorization": self.credentials.header} if self.credentials.header else {}
        return {
            **own,
            "Content-Type": kind,
            "Accept-Encoding": "identity",
            "User-Agent": f"flare-local/{__version__}",
            "Connection": "close",
        }

    def _guarded(self, request: Request, verb: Callable[[], T]) -> T:
        """`verb`, whose troubles with the network become `Lost`, or `Cut` where this side ended it."""
        try:
            return verb()
        except ssl.SSLCertVerificationError as error:
            raise self.fault(f"has a certificate that is not trusted ({error.verify_message})") from None
        except TimeoutError:
            reason = f"it was silent for {self.limits.silence_s:g} s"
        except (OSError, http.client.HTTPException, ValueError) as error:  # ValueError: read of a closed file
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        if request.gone.is_set():
            raise Cut
        raise Lost(reason)

    def _check(
        self, response: http.client.HTTPResponse, connection: http.client.HTTPConnection, allowed: tuple[int, ...]
    ) -> None:
        status = response.status
        if 200 <= status < 300 or status in allowed:
            return
        if 300 <= status < 400:
            raise self.fault(f"redirects elsewhere ({status})", "Give the URL that it redirects to.")
        words = ""
        with suppress(OSError, http.client.HTTPException):
            words = " ".join(response.read(4096).decode("utf-8", "replace").split())[:SHOWN]
        said = f"status {status}: {words}" if words else f"status {status}"
        if status in AGAIN:
            raise Lost(said, asked_wait(response.getheader("Retry-After"), self.patience.longest_s))
        if status in (401, 403):
            raise self.fault(f"does not let this program in ({said})", "docs/served.md says where keys are read from.")
        raise Refused(self.credentials.struck(f"{self.what} at {self.address} refused a request ({said})."), status)

    def _body(self, request: Request, response: http.client.HTTPResponse, largest: int) -> bytes:
        ends = time.monotonic() + self.limits.whole_s
        body = bytearray()
        while part := self._guarded(request, lambda: response.read1(65536)):
            body += part
            if len(body) > largest:
                raise self.fault(f"sent more than {largest / 2**20:g} MiB")
            if time.monotonic() > ends:
                raise Lost(f"its answer took more than {self.limits.whole_s:g} s")
        if response.length:
            raise Lost("its answer broke off")
        return bytes(body)


class Refused(ServerFault):
    """The server understood the request and will not do it."""

    def __init__(self, what: str, status: int) -> None:
        super().__init__(what)
        self.status = status
