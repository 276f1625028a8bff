"""How often a request is tried, and how long is waited between two tries."""

import random
from collections.abc import Iterator
from dataclasses import dataclass

AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504, 529})  # statuses that may be gone a moment later


@dataclass(frozen=True)
class Patience:
    """Waits that double from `first_s` to `longest_s`, each up to half as long again by chance."""

    tries: int = 6
    first_s: float = 0.5
    longest_s: float = 30.0

    def waits(self) -> Iterator[float]:
        """Seconds before the second try, the third and so on."""
        for number in range(self.tries - 1):
            yield min(self.longest_s, self.first_s * 2**number) * random.uniform(1, 1.5)


def asked_wait(header: str | None, longest_s: float) -> float:
    """Seconds that a `Retry-After` header asks for, at most `longest_s`; a date counts as nothing."""
    try:
        return min(longest_s, max(0.0, float(header or 0)))
    except ValueError:
        return 0.0
