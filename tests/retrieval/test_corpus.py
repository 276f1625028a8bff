"""Every corpus format is read as it lies, and every broken entry is named by file and line."""

import csv
import io
from hashlib import sha256
from pathlib import Path

import pytest

from flare_local.errors import CorpusError
from flare_local.retrieval import corpus_source
from flare_local.retrieval.corpus import Corpus
from flare_local.retrieval.corpus_source import Passage
from flare_local.retrieval.manifest import MANIFEST_FILE
from tests.retrieval.builders import jsonl, written

GOOD = {"id": "1", "title": "T", "text": "Some text."}


def read(path: Path, words: int = 100) -> list[tuple[str, str, str]]:
    return [(passage.id, passage.title, passage.text) for passage in Corpus(path, words)]


def dpr(rows: list[list[str]]) -> bytes:
    table = io.StringIO()
    csv.writer(table, delimiter="\t", lineterminator="\n").writerows(rows)
    return table.getvalue().encode()


@pytest.mark.parametrize("name", ["c.jsonl", "c.ndjson", "c.json", "c.jsonl.gz"])
def test_jsonl_takes_both_spellings_of_id_and_text(tmp_path: Path, name: str) -> None:
    rows = [GOOD, {"_id": 7, "contents": "Others."}, "", {"id": "x", "title": None, "text": "No title.", "extra": [1]}]
    assert read(jsonl(tmp_path / name, rows)) == [
        ("1", "T", "Some text."),
        ("7", "", "Others."),
        ("x", "", "No title."),
    ]


@pytest.mark.parametrize("name", ["corpus.jsonl", "corpus.jsonl.gz"])
def test_a_beir_folder_is_its_corpus_file(tmp_path: Path, name: str) -> None:
    jsonl(tmp_path / name, [{"_id": "d1", "title": "T", "text": "Text.", "metadata": {}}])
    jsonl(tmp_path / "queries.jsonl", [{"_id": "q1", "text": "a query"}])
    corpus = Corpus(tmp_path)
    assert [p.id for p in corpus] == ["d1"]
    assert corpus.format == "beir"


def test_a_folder_of_jsonl_files_is_read_in_the_order_of_names(tmp_path: Path) -> None:
    jsonl(tmp_path / "b.jsonl", [{"id": "2", "text": "b"}])
    jsonl(tmp_path / "a.jsonl", [{"id": "1", "text": "a"}])
    assert [passage.id for passage in Corpus(tmp_path)] == ["1", "2"]


@pytest.mark.parametrize("name", ["psgs_w100.tsv", "psgs_w100.tsv.gz"])
def test_dpr_tables_are_read_with_their_quotes(tmp_path: Path, name: str) -> None:
    rows = [["id", "text", "title"], ["1", 'Aaron "the" prophet\tof old.', "Aaron"], ["2", "Two\nlines.", "B"]]
    assert read(written(tmp_path / name, dpr(rows))) == [
        ("1", "Aaron", 'Aaron "the" prophet\tof old.'),
        ("2", "B", "Two\nlines."),
    ]


def test_text_files_are_cut_into_passages_of_so_many_words(tmp_path: Path) -> None:
    written(tmp_path / "docs" / "a.txt", b"one two three\nfour  five\n\nsix seven")
    written(tmp_path / "docs" / "sub" / "b.md", b"intro\n# The *Title* #\nbody text")
    written(tmp_path / "docs" / "c.txt.gz", b"zipped")
    written(tmp_path / "docs" / ".hidden.txt", b"never")
    assert read(tmp_path / "docs", words=3) == [
        ("a.txt#1", "a", "one two three"),
        ("a.txt#2", "a", "four five six"),
        ("a.txt#3", "a", "seven"),
        ("c.txt.gz#1", "c", "zipped"),
        ("sub/b.md#1", "The *Title*", "intro # The"),
        ("sub/b.md#2", "The *Title*", "*Title* # body"),
        ("sub/b.md#3", "The *Title*", "text"),
    ]


def test_an_index_that_was_built_among_the_texts_is_no_text(tmp_path: Path) -> None:
    written(tmp_path / "docs" / "a.txt", b"one")
    written(tmp_path / "docs" / "idx" / MANIFEST_FILE, b"{}")
    written(tmp_path / "docs" / "idx" / "stored" / "texts.jsonl", b"{}")
    assert read(tmp_path / "docs") == [("a.txt#1", "a", "one")]


def test_one_text_file_is_a_corpus(tmp_path: Path) -> None:
    assert read(written(tmp_path / "book.txt", "Ein Wort.".encode("utf-8-sig"))) == [
        ("book.txt#1", "book", "Ein Wort.")
    ]


def test_signs_that_nothing_can_store_are_replaced(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "c.jsonl", [r'{"id": "a\ud800", "title": "T\n x", "text": " \ud83d\ude00 and \udc00 "}'])
    assert read(path) == [("a\ufffd", "T x", "\U0001f600 and \ufffd")]


def test_progress_and_hash_follow_the_bytes_on_disk(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "c.jsonl.gz", [GOOD])
    corpus = Corpus(path)
    assert (corpus.bytes_read, corpus.total_bytes) == (0, path.stat().st_size)
    list(corpus)
    assert corpus.bytes_read == corpus.total_bytes
    assert corpus.sha256 == sha256(path.read_bytes()).hexdigest()


BAD_LINES = {
    "not JSON": '{"id": "2", "text": ',
    "not a JSON object": '["2"]',
    "no field `id` or `_id`": '{"text": "t"}',
    "no field `text` or `contents`": '{"id": "2"}',
    "neither text nor a whole number": '{"id": 1.5, "text": "t"}',
    "`title` or `text` is not text": '{"id": "2", "text": 5}',
    "the id is empty": '{"id": " ", "text": "t"}',
    "the id is longer than 512": '{"id": "' + "x" * 513 + '", "text": "t"}',
    "the id '1' was there before": '{"id": 1, "text": "t"}',
}


@pytest.mark.parametrize("reason", BAD_LINES)
def test_a_broken_line_is_named_or_left_out(tmp_path: Path, reason: str) -> None:
    path = jsonl(tmp_path / "c.jsonl", [GOOD, BAD_LINES[reason], {"id": "3", "text": "t"}])
    with pytest.raises(CorpusError, match=r"c\.jsonl, line 2: .*--skip-bad") as error:
        list(Corpus(path))
    assert reason in str(error.value)
    left_out: list[str] = []
    assert [passage.id for passage in Corpus(path, on_bad=left_out.append)] == ["1", "3"]
    assert len(left_out) == 1
    assert "line 2" in left_out[0]


def test_lines_that_are_not_utf8_are_broken(tmp_path: Path) -> None:
    path = written(tmp_path / "c.jsonl", b'{"id": "1", "text": "a"}\n{"id": "2", "text": "caf\xe9"}\n')
    with pytest.raises(CorpusError, match=r"line 2: not UTF-8 \(byte 25"):
        list(Corpus(path))


def test_deeply_nested_json_is_a_broken_line_not_a_crash(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "c.jsonl", ["[" * 100_000])
    with pytest.raises(CorpusError, match="line 1: not JSON"):
        list(Corpus(path))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"id\ttext\n1\tt\n", "line 1: the header must be: id, text, title"),
        (b"1\tt\ttitle\n", "line 1: the header must be"),
        (b"id\ttext\ttitle\n1\tt\tT\n2\tt\n", "line 3: 2 columns instead of 3"),
        (b'id\ttext\ttitle\n1\tt\tT\n2\t"open\tT\n3\tt\tT\n', r"line 3: 2 columns .*, up to line 4 \(a quote"),
        (b"id\ttext\ttitle\n1\tcaf\xe9\tT\n", "line 2: not UTF-8"),
    ],
)
def test_broken_dpr_tables_are_named(tmp_path: Path, data: bytes, message: str) -> None:
    with pytest.raises(CorpusError, match=message):
        list(Corpus(written(tmp_path / "c.tsv", data)))


def test_dpr_rows_after_a_broken_one_keep_their_line(tmp_path: Path) -> None:
    data = b"id\ttext\ttitle\n1\tcaf\xe9\tT\n2\tt\n3\tfine\tT\n4\t\t\t\n"
    left_out: list[str] = []
    passages = list(Corpus(written(tmp_path / "c.tsv", data), on_bad=left_out.append))
    assert passages == [Passage("3", "T", "fine", 4)]
    assert [f"line {line.split('line ')[1][0]}" for line in left_out] == ["line 2", "line 3", "line 5"]


def test_an_endless_line_is_refused_with_its_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus_source, "LONGEST_LINE", 2**20)
    path = written(tmp_path / "c.jsonl", b'{"id": "1", "text": "t"}\n' + b"x" * 2**21)
    with pytest.raises(CorpusError, match="line 2: longer than 1 MiB"):
        list(Corpus(path, on_bad=print))


def test_damaged_gzip_is_refused_where_it_breaks(tmp_path: Path) -> None:
    whole = jsonl(tmp_path / "c.jsonl.gz", [{"id": str(i), "text": "t" * 50} for i in range(2000)]).read_bytes()
    for damaged in (whole[: len(whole) // 2], b"no gzip at all", whole[:20] + b"\xff" * 200):
        path = tmp_path / "damaged.jsonl.gz"
        path.write_bytes(damaged)
        with pytest.raises(CorpusError, match="damaged or truncated after line"):
            list(Corpus(path, on_bad=print))


def test_what_is_no_corpus_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "mixed").mkdir()
    written(tmp_path / "mixed" / "a.txt", b"a")
    written(tmp_path / "mixed" / "b.jsonl", b"{}")
    cases = {
        tmp_path / "absent.jsonl": "There is no corpus",
        written(tmp_path / "zero.jsonl", b""): "is empty",
        written(tmp_path / "corpus.pdf", b"%PDF"): "format of .* is unknown",
        tmp_path / "empty": "holds no corpus",
        tmp_path / "mixed": "both text files and JSONL files",
        tmp_path / ("x" * 300): "cannot be read: File name too long",
        Path("/dev/null"): "neither a file nor a folder",
    }
    for path, message in cases.items():
        with pytest.raises(CorpusError, match=message):
            Corpus(path)


def test_a_file_that_may_not_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = jsonl(tmp_path / "c.jsonl", [GOOD])

    def denied(*_: object, **__: object) -> object:  # root may read everything, so chmod would not do
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "open", denied)
    with pytest.raises(CorpusError, match=r"c\.jsonl' cannot be read: Permission denied"):
        list(Corpus(path))
