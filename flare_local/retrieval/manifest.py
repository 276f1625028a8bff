"""What a built index says of itself: one JSON file inside its folder, written last."""

import json
from dataclasses import asdict, dataclass, fields
from hashlib import sha256
from pathlib import Path
from typing import Any

from flare_local.errors import IndexFault

MANIFEST_FILE = "flare_index.json"
FORMAT = 1
KINDS = ("lucene", "bm25s")


@dataclass(frozen=True)
class Manifest:
    """Everything that decides what an index returns, and where it came from."""

    kind: str  # lucene or bm25s
    documents: int
    source: str  # path of the corpus when it was read; not part of the hash
    source_format: str  # jsonl, beir, dpr or text
    source_sha256: str  # of the bytes of its files, in reading order
    content_sha256: str  # of ids, titles and texts, in reading order
    skipped: int  # broken entries left out with --skip-bad
    duplicates: int  # documents whose title and text had been seen under another id; they are kept
    empty: int  # documents without any text; left out
    analyser: str
    fields: tuple[str, ...]  # indexed ones
    versions: dict[str, str]  # of what built it
    format: int = FORMAT

    @property
    def hash(self) -> str:
        """Names the index in traces: sha256 of all but the corpus's path."""
        return sha256(_canonical({**asdict(self), "source": ""}).encode()).hexdigest()

    def write(self, folder: Path) -> None:
        """Write it into `folder`, whole or not at all."""
        beside = folder / f"{MANIFEST_FILE}.new"
        beside.write_text(json.dumps(asdict(self), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        beside.replace(folder / MANIFEST_FILE)


def read_manifest(folder: Path) -> Manifest | None:
    """The manifest of `folder`; None where there is none (an index that Pyserini or Anserini built).

    Raises `IndexFault` where it is broken or of a later format.
    """
    path = folder / MANIFEST_FILE
    try:
        values: Any = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise IndexFault(f"The index {folder} is corrupt: {MANIFEST_FILE} cannot be read.", _REBUILD) from error
    names = {field.name for field in fields(Manifest)}
    if not isinstance(values, dict) or not isinstance(values.get("format"), int):
        raise IndexFault(f"The index {folder} is corrupt: {MANIFEST_FILE} is not a manifest.", _REBUILD)
    if values["format"] > FORMAT:
        raise IndexFault(
            f"The index {folder} was built by a newer flare-local.", "Update flare-local, or build it again."
        )
    if set(values) != names or values["kind"] not in KINDS or not isinstance(values["documents"], int):
        raise IndexFault(f"The index {folder} is corrupt: {MANIFEST_FILE} is incomplete.", _REBUILD)
    return Manifest(**{**values, "fields": tuple(values["fields"])})


_REBUILD = "Build it again: flare-local index build CORPUS --out DIR --force"


def _canonical(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
