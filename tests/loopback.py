"""A real HTTP server on loopback for tests: one function answers all requests, over real sockets."""

import socket
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True)
class Asked:
    """A request as it came in."""

    method: str
    path: str  # with its query
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class Said:
    """An answer. Parts are sent one by one, chunked; `cut` closes the socket behind them without an end."""

    status: int = 200
    body: bytes | Iterable[bytes] = b""
    kind: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)
    cut: bool = False


Answering = Callable[[Asked], Said]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: "_Server"

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        said = self.server.answering(Asked(self.command, self.path, dict(self.headers), body))
        self.send_response(said.status)
        self.send_header("Content-Type", said.kind)
        for name, value in said.headers.items():
            self.send_header(name, value)
        if isinstance(said.body, bytes):
            self.send_header("Content-Length", str(len(said.body) + said.cut))
            self.end_headers()
            self.wfile.write(said.body)
        else:
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for part in said.body:
                self.wfile.write(f"{len(part):x}\r\n".encode() + part + b"\r\n")
                self.wfile.flush()
            if not said.cut:
                self.wfile.write(b"0\r\n\r\n")
        if said.cut:
            self.close_connection = True
            with suppress(OSError):
                self.connection.shutdown(socket.SHUT_RDWR)

    do_GET = do_POST = do_PUT = do_DELETE = _answer

    def log_message(self, format: str, *args: object) -> None:
        """Silent."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    answering: Answering

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that cuts off is what tests are about."""


@contextmanager
def serving(answering: Answering) -> Iterator[str]:
    """The URL of a server that answers by `answering` until the block ends."""
    server = _Server(("127.0.0.1", 0), _Handler)
    server.answering = answering
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@dataclass
class Faults:
    """Puts faults in front of an answering function: each is used once, in order."""

    then: Answering
    faults: list[Said] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)

    def __call__(self, asked: Asked) -> Said:
        self.asked.append(asked)
        return self.faults.pop(0) if self.faults else self.then(asked)
