"""`flare-local index`: build an index, say what it is, search it, check it."""

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flare_local.cli.console import err
from flare_local.cli.index_progress import BuildProgress
from flare_local.errors import UsageError
from flare_local.trace.safe_text import safe_line

if TYPE_CHECKING:
    from flare_local.retrieval.build import BuildReport
    from flare_local.retrieval.describe import Description
    from flare_local.retrieval.document import Document

app = typer.Typer(help="Build, search and check indexes.", no_args_is_help=True)

SNIPPET = 300  # characters of a document's text that `search` shows; --json gives all
LISTED = 10  # entries left out that are named on stderr; skipped.txt has all

_Index = Annotated[
    str, typer.Argument(metavar="INDEX", help="Folder of an index, or the Pyserini name of a prebuilt one.")
]
_Json = Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")]


@app.callback()
def index() -> None:
    """Indexes of texts, for `ask --index`."""


@app.command()
def build(
    corpus: Annotated[
        str,
        typer.Argument(
            help="A .jsonl file (id, title, text), a BEIR folder, a DPR .tsv, a text or Markdown file or a folder of "
            "them; each may be .gz.",
            show_default=False,
        ),
    ],
    out: Annotated[str, typer.Option("--out", metavar="DIR", help="The new index's folder.", show_default=False)],
    kind: Annotated[str, typer.Option(metavar="lucene|bm25s", help="bm25s needs no Java.")] = "lucene",
    words: Annotated[int, typer.Option(help="Words of a passage cut from plain text.")] = 100,
    threads: Annotated[int, typer.Option(help="Threads that merge Lucene's segments.")] = 2,
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="Leave broken entries out, count and list them.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace an index that is there.")] = False,
    memory: Annotated[
        str | None, typer.Option(help="Java's memory, like 2g; else FLARE_JAVA_MEMORY, else 1g.", show_default=False)
    ] = None,
) -> None:
    """Build an index: beside its folder, counted, then renamed. Interrupted, it leaves nothing."""
    from flare_local.retrieval.build import build_index

    with BuildProgress(err()) as progress:
        report = build_index(
            corpus,
            out,
            kind=kind,
            words=words,
            threads=threads,
            skip_bad=skip_bad,
            force=force,
            memory=memory,
            progress=progress,
        )
    _tell(report)
    print(report.path)


@app.command()
def info(index: _Index, as_json: _Json = False) -> None:
    """Say what an index is and where it came from."""
    from flare_local.retrieval.describe import describe

    found = describe(index)
    if as_json:
        print(json.dumps(_as_dict(found), ensure_ascii=False))
    else:
        for name, value in _lines(found):
            print(f"{name:<12}{safe_line(value)}")


@app.command()
def search(
    query: Annotated[str, typer.Argument(help="What to look for; every sign in it is plain text.", show_default=False)],
    index: Annotated[
        str | None,
        typer.Option("--index", help="Folder or prebuilt name; unset: the embedded demo index.", show_default=False),
    ] = None,
    k: Annotated[int, typer.Option("--k", help="Documents at most.")] = 5,
    as_json: _Json = False,
    bm25: Annotated[
        str | None, typer.Option("--bm25", metavar="default|paper", help="As of `ask`.", show_default=False)
    ] = None,
    k1: Annotated[str | None, typer.Option("--k1", metavar="NUMBER", help="As of `ask`.", show_default=False)] = None,
    b: Annotated[str | None, typer.Option("--b", metavar="NUMBER", help="As of `ask`.", show_default=False)] = None,
    config: Annotated[
        Path | None, typer.Option("--config", metavar="FILE", help="TOML file of options.", show_default=False)
    ] = None,
) -> None:
    """Rank documents for a query, best first; equal scores by document id."""
    from flare_local.cli.opening import open_retriever
    from flare_local.cli.sources import resolve

    if k < 1:
        raise UsageError(f"--k is {k}.", "Give 1 or more.")
    options = resolve({"index": index, "bm25": bm25, "k1": k1, "b": b}, config).retrieval
    with open_retriever(options) as opened:
        documents = opened.search_now([query], k)[0]
        named = {"path": str(opened.path), "hash": opened.manifest_hash}
    if as_json:
        print(
            json.dumps(
                {"query": query, "index": named, "documents": [asdict(d) for d in documents]}, ensure_ascii=False
            )
        )
        return
    for document in documents:
        _show(document)
    if not documents:
        err().print("No document shares a word with the query.")


@app.command()
def load(
    place: Annotated[
        str,
        typer.Argument(
            metavar="URL/INDEX",
            help="Index of an OpenSearch or Elasticsearch server: http://localhost:9200/my-texts. Made where absent.",
            show_default=False,
        ),
    ],
    corpus: Annotated[str, typer.Argument(help="As of `build`.", show_default=False)],
    words: Annotated[int, typer.Option(help="Words of a passage cut from plain text.")] = 100,
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="Leave broken entries out, count and list them.")
    ] = False,
) -> None:
    """Load a corpus into a server's index. Broken off, the same command goes on with what is not there yet.

    User and password come from FLARE_INDEX_USER and FLARE_INDEX_PASSWORD.
    """
    from flare_local.retrieval.search_server_load import load_corpus

    with BuildProgress(err()) as progress:
        report = load_corpus(place, corpus, words=words, skip_bad=skip_bad, progress=progress)
    for line in report.skipped:
        err().print(f"left out: {safe_line(line)}")
    err().print(
        f"{report.documents:,} documents; {report.sent:,} sent, {report.read - report.sent:,} were there; "
        f"{report.empty:,} without text left out."
    )
    print(report.path)


@app.command()
def verify(index: _Index) -> None:
    """Read every byte of an index and say whether it is whole."""
    from flare_local.retrieval.verify import verify as check

    print(f"{check(index):,} documents, all whole")


def _tell(report: "BuildReport") -> None:
    """What was built and what was left out, on stderr."""
    manifest = report.manifest
    for line in report.skipped[:LISTED]:
        err().print(f"left out: {safe_line(line)}")
    if manifest.skipped > LISTED:
        err().print(f"left out: {manifest.skipped - LISTED:,} more, listed in {report.path / 'skipped.txt'}")
    notes = [f"{manifest.documents:,} documents indexed"]
    if manifest.skipped:
        notes.append(f"{manifest.skipped:,} broken ones left out")
    if manifest.empty:
        notes.append(f"{manifest.empty:,} without text left out")
    if report.passed_over:
        notes.append(f"{report.passed_over:,} files of other kinds passed over")
    if manifest.duplicates:
        notes.append(f"{manifest.duplicates:,} repeat the text of another")
    err().print("; ".join(notes) + ".")


def _show(document: "Document") -> None:
    text = safe_line(" ".join(document.text.split()))
    print(
        f"{document.rank}. {safe_line(document.title or document.id)}  [{safe_line(document.id)}, {document.score:.4f}]"
    )
    print(f"   {text if len(text) <= SNIPPET else text[:SNIPPET] + '...'}")


def _as_dict(found: "Description") -> dict[str, Any]:
    return asdict(replace(found, path=str(found.path)))  # type: ignore[arg-type]


def _lines(found: "Description") -> list[tuple[str, str]]:
    lines = [
        ("path", str(found.path)),
        ("kind", found.kind),
        ("documents", f"{found.documents:,}"),
        ("on disk", f"{found.bytes / 2**20:,.1f} MiB"),
        ("fields", ", ".join(found.fields)),
        ("hash", found.hash),
    ]
    if found.manifest is None:
        return [*lines, ("built by", "Pyserini or Anserini (no manifest)")]
    manifest = found.manifest
    return [
        *lines,
        ("source", f"{manifest.source} ({manifest.source_format})"),
        ("sha256", manifest.source_sha256),
        ("left out", f"{manifest.skipped:,} broken, {manifest.empty:,} without text"),
        ("repeated", f"{manifest.duplicates:,} with the text of another"),
        ("analyser", manifest.analyser),
        ("built by", ", ".join(f"{name} {number}" for name, number in manifest.versions.items())),
    ]
