"""Small corpora on disk, and indexes of them."""

import gzip
import json
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from flare_local.retrieval.build import build_index
from flare_local.retrieval.java_home import find_jar, find_java

ROWS = [
    {"id": "harbour", "title": "Harbour Bridge", "text": "The bridge over the harbour was built by Clara Tarrow."},
    {"id": "ship", "title": "Grey Heron", "text": "The Grey Heron is a ship. Its captain was Silas Belden."},
    {"id": "tower", "title": "Copper Tower", "text": "The tower rings at noon and at six, when the ships come in."},
    {"id": "book", "title": "The Salt Road", "text": "A book by Maud Corwick about the road to the sea."},
    {"id": "ünï", "title": "Über Größe 東京", "text": "Ein Café in 東京 serves naïve 😀 crème brûlée to Москва."},
    {"id": "untitled", "title": "", "text": "Nobody gave this passage a title, but it has a harbour in it."},
]


def jsonl(path: Path, rows: Iterable[Mapping[str, Any] | str]) -> Path:
    """One row a line; a row that is text is written as it is. Zipped where `path` ends in .gz."""
    lines = [row if isinstance(row, str) else json.dumps(row, ensure_ascii=False) for row in rows]
    return written(path, "".join(f"{line}\n" for line in lines).encode())


def written(path: Path, data: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def built(folder: Path, rows: Iterable[Mapping[str, Any] | str] = ROWS, **options: Any) -> Path:
    """An index of `rows` in `folder`/index."""
    return build_index(jsonl(folder / "corpus.jsonl", rows), folder / "index", **options).path


def built_by_anserini(folder: Path, rows: Iterable[Mapping[str, Any]], *options: str) -> Path:
    """An index that Anserini's own IndexCollection built, as `python -m pyserini.index.lucene` would."""
    jsonl(folder / "collection" / "docs.jsonl", rows)
    java = find_java().path / "bin" / "java"
    command = [java, "-Xmx512m", "-cp", find_jar(), "io.anserini.index.IndexCollection"]
    command += ["-collection", "JsonCollection", "-generator", "DefaultLuceneDocumentGenerator", "-threads", "1"]
    command += ["-input", folder / "collection", "-index", folder / "index", *options]
    subprocess.run(command, check=True, capture_output=True)
    return folder / "index"
