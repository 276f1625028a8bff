"""Keys and passwords: read from the environment alone, and struck out of every text that a server sends back."""

import os
from base64 import b64encode
from dataclasses import dataclass

from flare_local.errors import UsageError


@dataclass(frozen=True)
class Credentials:
    """What a server wants to see. Its `repr` shows nothing of it."""

    header: str = ""  # value of the header Authorization; empty: none
    secrets: tuple[str, ...] = ()  # what must never be shown

    def __repr__(self) -> str:
        return "Credentials(...)" if self.header else "Credentials()"

    def struck(self, text: str) -> str:
        """`text` with every secret in it replaced."""
        for secret in self.secrets:
            text = text.replace(secret, "***")
        return text


def key_from(variable: str) -> Credentials:
    """The key in an environment variable, as a bearer token; none where it is unset. Raises `UsageError`."""
    key = _read(variable)
    return Credentials(f"Bearer {key}", (key,)) if key else Credentials()


def login_from(user_variable: str, password_variable: str) -> Credentials:
    """User and password in two environment variables; none where both are unset. Raises `UsageError`."""
    user, password = _read(user_variable), _read(password_variable)
    if not user and not password:
        return Credentials()
    if not user or not password:
        missing = password_variable if user else user_variable
        raise UsageError(f"The environment variable {missing} is not set.", "Set both, or neither.")
    coded = b64encode(f"{user}:{password}".encode()).decode()
    return Credentials(f"Basic {coded}", (coded, password))


def _read(variable: str) -> str:
    value = os.environ.get(variable, "").strip()
    if not (value.isascii() and value.isprintable()):
        raise UsageError(f"The environment variable {variable} holds characters that no header may have.")
    return value
