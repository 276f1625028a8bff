"""Where a server is: a URL, read strictly. Passwords in it are refused, since addresses are written into traces."""

from dataclasses import dataclass
from urllib.parse import urlsplit

from flare_local.errors import UsageError

PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True)
class Address:
    """A server and the path that everything on it begins with."""

    scheme: str  # http or https
    host: str  # IPv6 without its brackets
    port: int
    path: str = ""  # without a slash at its end

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port == PORTS[self.scheme] else f":{self.port}"
        return f"{self.scheme}://{host}{port}{self.path}"

    @classmethod
    def read(cls, url: str, place: str) -> "Address":
        """The address that `url` gives. Raises `UsageError`, naming `place`; a password in the URL is never shown."""
        refuse_password(url, place)
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError as error:
            raise UsageError(f"{place}: the URL is broken ({error}).", "Write http://HOST:PORT.") from None
        if parts.scheme not in PORTS or not parts.hostname or not _plain(url):
            raise UsageError(f"{place}: {url[:80]!r} is no URL of a server.", "Write http://HOST:PORT.")
        if parts.query or parts.fragment:
            raise UsageError(f"{place}: a server's URL ends before ? and #.", "Leave out what follows.")
        return cls(parts.scheme, parts.hostname, PORTS[parts.scheme] if port is None else port, parts.path.rstrip("/"))


def refuse_password(url: str, place: str) -> None:
    """Raises `UsageError` for a URL with a user or password in it, without showing any of it."""
    authority = url.partition("//")[2].split("/")[0]
    if "@" in authority:
        raise UsageError(
            f"{place}: the URL holds a user or a password, which would end up in traces.",
            "Leave them out of the URL, and set the environment variables of docs/served.md.",
        )


def _plain(url: str) -> bool:
    return url.isascii() and url.isprintable() and " " not in url
