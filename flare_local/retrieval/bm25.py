"""How documents are scored."""

from dataclasses import dataclass
from typing import Literal, Self

from flare_local.errors import UsageError

DEFAULT_BM25 = (0.9, 0.4)  # k1, b; Pyserini's defaults
PAPER_BM25 = (1.2, 0.75)  # Elasticsearch's defaults, which the authors' server had


@dataclass(frozen=True)
class Bm25:
    """The parameters of BM25; `paper` scores title and text apart, as the authors' server did."""

    k1: float
    b: float
    scoring: Literal["default", "paper"]

    @classmethod
    def of(cls, k1: float | None, b: float | None, scoring: str) -> Self:
        """Fill in the defaults of `scoring`. Raises `UsageError` for values that BM25 has no meaning for."""
        if scoring not in ("default", "paper"):
            raise UsageError(f"Unknown BM25 scoring {scoring!r}.", "Use `default` or `paper`.")
        default_k1, default_b = PAPER_BM25 if scoring == "paper" else DEFAULT_BM25
        k1, b = default_k1 if k1 is None else float(k1), default_b if b is None else float(b)
        if not 0 <= k1 < float("inf"):
            raise UsageError(f"BM25 k1 is {k1}; it must be 0 or more.")
        if not 0 <= b <= 1:
            raise UsageError(f"BM25 b is {b}; it must lie between 0 and 1.")
        return cls(k1, b, "paper" if scoring == "paper" else "default")
