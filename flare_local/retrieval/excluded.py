"""Domains whose pages are never shown: as operators in a query, and as a filter on what is found.

Source: paper, appendix B and table 8 ("to avoid leaking").
"""

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from flare_local.errors import UsageError

TABLE_8 = "wikipedia.org,wikiwand.com,wiki2.org,wikimedia.org"
_DOMAIN = re.compile(r"[a-z0-9-]+(\.[a-z0-9-]+)+")


@dataclass(frozen=True)
class Excluded:
    """Domains with all of their subdomains."""

    domains: tuple[str, ...] = ()

    @classmethod
    def read(cls, text: str) -> "Excluded":
        """`a.org,b.com`; blanks between them do not count. Raises `UsageError`."""
        domains = [word.strip().lower() for word in text.split(",") if word.strip()]
        for domain in domains:
            if not _DOMAIN.fullmatch(domain):
                raise UsageError(f"--exclude-domains names {domain[:60]!r}, which is no domain.", "Write a.org,b.com.")
        return cls(tuple(dict.fromkeys(domains)))

    def in_query(self, query: str) -> str:
        """The query with an operator a domain, as search engines take them (`-site:`)."""
        return " ".join([query, *(f"-site:{domain}" for domain in self.domains)])

    def has(self, url: str) -> bool:
        """Whether a page lies on one of the domains. What is no URL counts as excluded."""
        try:
            host = (urlsplit(url).hostname or "").rstrip(".").lower()
        except ValueError:
            return True
        return not host or any(host == domain or host.endswith("." + domain) for domain in self.domains)
