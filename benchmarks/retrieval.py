"""Lucene against bm25s on the same passages: building, size, speed of a query and of a batch, and what both find.

python -m benchmarks.retrieval --out retrieval
python -m benchmarks.retrieval --out retrieval --corpus corpus.jsonl --questions questions.jsonl

Without --corpus the passages are made-up words, without --questions the queries are stretches of the passages. Both
indexes are asked through the same interface, one query after the other in turn.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean
from time import perf_counter
from typing import Any

from benchmarks.made_up_corpus import made_up_queries, write_corpus
from benchmarks.plot import Bars, draw
from benchmarks.questions import append, cpu, questions
from benchmarks.setting import OUT, parsed
from benchmarks.table import percentile, table
from flare_local.errors import FlareError
from flare_local.retrieval.build import build_index
from flare_local.retrieval.manifest import KINDS
from flare_local.retrieval.open import open_index

QUICK = {"passages": 10_000, "queries": 100}
WARMING = 20  # queries that are not counted: Java compiles what it runs often


@dataclass
class Measured:
    """One kind of index."""

    kind: str
    build_seconds: float
    mebibytes: float
    single: list[float] = field(default_factory=list)  # ms of a query
    batch: list[float] = field(default_factory=list)  # ms of a batch
    found: list[list[str]] = field(default_factory=list)  # ids for each query, best first


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--out", type=Path, required=True, help=f"{OUT}, and the indexes")
    options.add_argument("--quick", action="store_true", help="a short version; what is named beside it stays")
    options.add_argument("--corpus", type=Path, help="JSONL with id, title and text (a made-up one)")
    options.add_argument("--questions", type=Path, help="JSONL with a key `question` (stretches of passages)")
    options.add_argument("--passages", type=int, default=50_000, help="of the made-up corpus")
    options.add_argument("--queries", type=int, default=1000)
    options.add_argument("--batch", type=int, default=32, help="queries in a batch")
    options.add_argument("--top-k", type=int, default=10)
    options.add_argument("--threads", type=int, default=2)
    options.add_argument("--seed", type=int, default=0)
    given = parsed(options, QUICK)
    given.out.mkdir(parents=True, exist_ok=True)
    corpus = given.corpus or given.out / f"made-up-{given.passages}-{given.seed}.jsonl"
    if not corpus.exists():
        write_corpus(corpus, given.passages, given.seed)
    if given.questions is None:
        queries = made_up_queries(corpus, given.queries, given.seed)
    else:
        queries = questions(given.questions, given.queries)
    print(f"{cpu()}; {given.threads} search threads; {corpus.name}, {len(queries)} queries", flush=True)
    kinds = [measured for kind in KINDS if (measured := build(kind, corpus, given.out, given.threads)) is not None]
    ask_in_turn(kinds, queries, given)
    for measured in kinds:
        append(given.out / "retrieval.jsonl", as_json(measured, given))
    print(as_table(kinds, given.batch))
    print(overlap(kinds, given.top_k), flush=True)
    speeds = {
        f"{kind.kind}, {of}": {"p50": percentile(ms, 0.5), "to p99": percentile(ms, 0.99) - percentile(ms, 0.5)}
        for of, each in (("one query", 1), ("of a batch", given.batch))
        for kind in kinds
        for ms in [[one / each for one in (kind.single if each == 1 else kind.batch)]]
    }
    draw(given.out / "retrieval.png", cpu(), Bars(f"{corpus.name}: a query", "ms", speeds))


def build(kind: str, corpus: Path, out: Path, threads: int) -> Measured | None:
    """Builds an index in `out`; None, and a line that says why, where this kind cannot be built here."""
    began = perf_counter()
    try:
        report = build_index(corpus, out / kind, kind=kind, threads=threads, force=True)
    except FlareError as error:
        print(f"{kind}: {error}", flush=True)
        return None
    seconds = perf_counter() - began
    size = sum(file.stat().st_size for file in report.path.rglob("*") if file.is_file()) / 2**20
    print(f"{kind}: {report.manifest.documents:,} passages in {seconds:.1f} s, {size:.1f} MiB", flush=True)
    return Measured(kind, seconds, size)


def ask_in_turn(kinds: list[Measured], queries: list[str], given: argparse.Namespace) -> None:
    """Each query, then each batch, goes to one index after the other."""
    indexes = [open_index(given.out / measured.kind, threads=given.threads) for measured in kinds]
    try:
        for index in indexes:
            for query in queries[:WARMING]:
                index.search_now([query], given.top_k)
            index.search_now(queries[: given.batch], given.top_k)
        for query in queries:
            for measured, index in zip(kinds, indexes, strict=True):
                ms, found = timed(index, [query], given.top_k)
                measured.single.append(ms)
                measured.found += found
        for begin in range(0, max(1, len(queries) - given.batch + 1), given.batch):
            for measured, index in zip(kinds, indexes, strict=True):
                measured.batch.append(timed(index, queries[begin : begin + given.batch], given.top_k)[0])
    finally:
        for index in indexes:
            index.close()


def timed(index: Any, queries: Sequence[str], k: int) -> tuple[float, list[list[str]]]:
    """Milliseconds until all are there, and the ids for each query."""
    began = perf_counter()
    found = index.search_now(queries, k)
    ms = (perf_counter() - began) * 1000
    return ms, [[document.id for document in documents] for documents in found]


def as_table(kinds: list[Measured], batch: int) -> str:
    """A line an index; ratios are to the first."""
    first = kinds[0]
    median_of_first = percentile(first.single, 0.5)
    rows = [
        [
            kind.kind,
            kind.build_seconds,
            kind.mebibytes,
            percentile(kind.single, 0.5),
            percentile(kind.single, 0.99),
            percentile(kind.batch, 0.5),
            percentile(kind.batch, 0.99),
            1000 * batch * len(kind.batch) / sum(kind.batch),
            first.build_seconds / kind.build_seconds,
            median_of_first / percentile(kind.single, 0.5),
        ]
        for kind in kinds
    ]
    return table(
        ["index", "build s", "MiB", "query p50 ms", "p99 ms", f"batch of {batch} p50 ms", "p99 ms", "queries/s",
         f"build {first.kind} / this", f"p50 {first.kind} / this"],
        rows,
    )  # fmt: skip


def overlap(kinds: list[Measured], k: int) -> str:
    """How much of what one finds the other finds too."""
    if len(kinds) < 2:
        return "Nothing to compare with."
    pairs = list(zip(kinds[0].found, kinds[1].found, strict=True))
    shared = mean(len({*a} & {*b}) / max(1, len(a), len(b)) for a, b in pairs)
    first = mean(a[:1] == b[:1] for a, b in pairs)
    same = mean(a == b for a, b in pairs)
    return (
        f"top {k}: {shared:.1%} shared on average, the same first passage for {first:.1%}, the same list for {same:.1%}"
    )


def as_json(measured: Measured, given: argparse.Namespace) -> dict[str, object]:
    """A line of the file."""
    return {
        "kind": measured.kind, "cpu": cpu(), "build_seconds": measured.build_seconds, "mebibytes": measured.mebibytes,
        "top_k": given.top_k, "batch": given.batch, "threads": given.threads,
        "query_ms": measured.single, "batch_ms": measured.batch, "found": measured.found,
    }  # fmt: skip


if __name__ == "__main__":
    main()
