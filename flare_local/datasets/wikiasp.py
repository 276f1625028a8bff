"""WikiAsp as it was released (a folder of JSONL a domain), and the Arrow folder of 500 by FLARE's authors."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from flare_local.datasets.fields import Fields
from flare_local.datasets.item import Aspect, Item
from flare_local.datasets.rows import Fault, Row, Rows, read_rows
from flare_local.errors import UsageError
from flare_local.runs.questions import file_bytes

TITLES = "wikiasp_titles_annotated.tsv"  # id, tab, title: the authors' file of titles found by hand
QUESTION = "Generate a summary about {title} including the following aspects: {aspects} with one aspect per line."


def is_wikiasp(fields: Fields) -> bool:
    """Whether a row is one of the released files."""
    return "targets" in fields or "clean_targets" in fields


def wikiasp_item(fields: Fields, line: int, titles: Mapping[str, str]) -> Item:
    """A row; texts and title that the authors have cleaned go first, aspects without text are left out.

    Raises `UsageError`, also where nothing says what the article is called: WikiAsp itself does not.
    """
    id = fields.id("exid")
    title = titles.get(id) or fields.text_or("clean_title") or fields.text_or("title")
    if not title:
        raise fields.fault("no title.", f"Put {TITLES} (id, tab, title) beside the file: WikiAsp has none.")
    aspects = _aspects(fields, "clean_targets" if "clean_targets" in fields else "targets")
    if not aspects:
        raise fields.fault("no aspect with a text.")
    names = ", ".join(aspect.name for aspect in aspects)
    question = QUESTION.format_map({"title": title, "aspects": names})
    return Item(id=id, question=question, line=line, aspects=aspects)


def read_titles(folder: Path) -> dict[str, str]:
    """Titles by id; none where the folder has no such file. Raises `UsageError` where a line is not id, tab, title."""
    path = folder / TITLES
    if not path.is_file():
        return {}
    titles = {}
    for number, line in enumerate(file_bytes(path, "title").decode("utf-8", "replace").splitlines(), 1):
        id, tab, title = line.strip().partition("\t")
        if line.strip() and not (tab and title.strip()):
            raise UsageError(f"{path}:{number}: not an id, a tab and a title.")
        titles[id] = title.strip()
    return titles


def domain_rows(folder: Path, split: str) -> Rows:
    """Rows of `split`.jsonl in a folder and in its folders (one a domain). Raises `UsageError` where there is none."""
    paths = sorted([*folder.glob(f"{split}.jsonl"), *folder.glob(f"*/{split}.jsonl")])
    if not paths:
        raise UsageError(f"{folder} holds no {split}.jsonl, and none in a folder a domain.", "Unpack WikiAsp there.")
    for path in paths:
        yield from read_rows(file_bytes(path, "data"), str(path))


def arrow_rows(folder: Path) -> Rows:
    """Rows of the Arrow files in a folder that Hugging Face's datasets wrote. Raises `UsageError`."""
    try:
        import pyarrow
    except ImportError:
        raise UsageError(f"{folder} holds Arrow files, which pyarrow reads.", "pip install pyarrow.") from None
    for path in sorted(folder.glob("*.arrow")):
        try:
            with pyarrow.memory_map(str(path)) as file, pyarrow.ipc.open_stream(file) as stream:
                yield from _arrow_rows(stream.read_all().to_pylist(), path)
        except (pyarrow.ArrowException, OSError) as error:
            yield Fault(1, f"{path}: not an Arrow stream: {' '.join(str(error).split())}.")


def _arrow_rows(values: list[object], path: Path) -> Iterator[Row]:
    for number, value in enumerate(values, 1):
        yield Row(f"{path} (row {number})", number, None, value)


def _aspects(fields: Fields, name: str) -> tuple[Aspect, ...]:
    found = []
    for aspect, text in fields.pairs(name):
        if not isinstance(text, str):
            raise fields.fault(f"{name} holds an aspect whose text is not a text.")
        if text.strip():
            found.append(Aspect(aspect, text.strip().replace("\n", " ")))
    return tuple(found)
