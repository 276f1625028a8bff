"""One function a format: a file in, `Passage` or `BadEntry` out. An id may be no longer than Lucene's terms."""

import csv
import json
from collections.abc import Iterator
from pathlib import Path

from flare_local.errors import CorpusError
from flare_local.retrieval.corpus_source import LONGEST_LINE, BadEntry, Passage, Source

LONGEST_ID = 512  # characters
MARKDOWN = ("md", "markdown")
DPR_COLUMNS = ("id", "text", "title")  # psgs_w100.tsv

Entry = Passage | BadEntry


def jsonl_entries(source: Source, file: Path) -> Iterator[Entry]:
    """One object a line: `id` or `_id`, `text` or `contents`, and maybe `title`. Blank lines are passed over."""
    for number, line in source.lines(file):
        if isinstance(line, BadEntry):
            yield line
        elif line.strip():
            yield _from_json(file, number, line)


def dpr_entries(source: Source, file: Path) -> Iterator[Entry]:
    """Tab-separated with the header `id text title`; quotes as Python's csv writes them."""
    lines = _GoodLines(source, file)
    csv.field_size_limit(LONGEST_LINE)
    rows = csv.reader(lines, delimiter="\t")
    header = next(rows, [])
    if lines.bad or sorted(header) != sorted(DPR_COLUMNS):
        raise CorpusError(f"{file}, line 1: the header must be: {', '.join(DPR_COLUMNS)} (tab-separated).")
    where = [header.index(name) for name in ("id", "title", "text")]
    while True:
        lines.taken.clear()
        try:
            row = next(rows, None)
        except csv.Error as error:
            raise CorpusError(f"{file}, line {lines.taken[0]}: {error} (a quote that is not closed?).") from error
        yield from lines.bad
        lines.bad.clear()
        if row is None:
            return
        if len(row) == len(DPR_COLUMNS):
            yield _checked(file, lines.taken[0], *(row[column] for column in where))
        elif row:
            until = f", up to line {lines.taken[-1]} (a quote that is not closed?)" if len(lines.taken) > 1 else ""
            yield BadEntry(file, lines.taken[0], f"{len(row)} columns instead of {len(DPR_COLUMNS)}{until}")


def text_entries(source: Source, file: Path, root: Path, words: int) -> Iterator[Entry]:
    """Passages of `words` words of one text file, called path#1, path#2 ...; the title is its first Markdown heading,
    else the file's name. Line breaks become spaces; the heading stays in the text too."""
    title, passage, count = "", list[str](), 0
    name = file.relative_to(root).as_posix()
    stem, _, suffix = file.name.removesuffix(".gz").rpartition(".")
    for number, line in source.lines(file):
        if isinstance(line, BadEntry):
            yield line
            continue
        if not title and line.startswith("#") and suffix.lower() in MARKDOWN:
            title = line.strip("# \t")
        passage += line.split()
        while len(passage) >= words:
            count += 1
            yield _checked(file, number, f"{name}#{count}", title or stem, " ".join(passage[:words]))
            del passage[:words]
    if passage or not count:
        yield _checked(file, 1, f"{name}#{count + 1}", title or stem, " ".join(passage))


def _from_json(file: Path, number: int, line: str) -> Entry:
    try:
        value = json.loads(line)
    except json.JSONDecodeError as error:
        return BadEntry(file, number, f"not JSON ({error.msg}, column {error.colno})")
    except (ValueError, RecursionError) as error:  # a number of 5,000 digits, 100,000 brackets
        return BadEntry(file, number, f"not JSON ({error})")
    if not isinstance(value, dict):
        return BadEntry(file, number, "not a JSON object")
    identity = value.get("id", value.get("_id"))
    if identity is None:
        return BadEntry(file, number, "no field `id` or `_id`")
    if isinstance(identity, bool) or not isinstance(identity, str | int):
        return BadEntry(file, number, "`id` is neither text nor a whole number")
    text = value.get("text", value.get("contents"))
    if text is None:
        return BadEntry(file, number, "no field `text` or `contents`")
    title = value.get("title") or ""
    if not isinstance(text, str) or not isinstance(title, str):
        return BadEntry(file, number, "`title` or `text` is not text")
    return _checked(file, number, str(identity), title, text)


def _checked(file: Path, number: int, identity: str, title: str, text: str) -> Entry:
    if not identity.strip():
        return BadEntry(file, number, "the id is empty")
    if len(identity) > LONGEST_ID:
        return BadEntry(file, number, f"the id is longer than {LONGEST_ID} characters")
    return Passage(_clean(identity), " ".join(_clean(title).split()), _clean(text).strip(), number)


def _clean(text: str) -> str:
    """Lone surrogates (from JSON escapes or file names) become U+FFFD: nothing can store them."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


class _GoodLines:
    """The lines of a file that are UTF-8, for csv; keeps the numbers of those taken and the bad ones apart."""

    def __init__(self, source: Source, file: Path) -> None:
        self._lines = source.lines(file)
        self.taken: list[int] = []
        self.bad: list[BadEntry] = []

    def __iter__(self) -> Iterator[str]:
        for number, line in self._lines:
            if isinstance(line, BadEntry):
                self.bad.append(line)
            else:
                self.taken.append(number)
                yield line + "\n"
