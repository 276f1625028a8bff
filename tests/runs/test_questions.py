"""Files of questions: three forms, ids, and errors that name the line."""

import io
from pathlib import Path

import pytest

from flare_local.errors import UsageError
from flare_local.runs.questions import Asked, Form, read_file, read_questions, read_stream


def ids(data: str, form: Form | None = None) -> list[str]:
    return [asked.id for asked in read_questions(data.encode(), "q", form)]


def test_text_is_a_question_a_line_named_by_its_line() -> None:
    read = read_questions(b"\xef\xbb\xbfWho?\r\n\n  When, \xe2\x80\xa8 or where?  ", "q", Form.TEXT)
    assert read == [Asked("line-1", "Who?", 1), Asked("line-3", "When, \u2028 or where?", 3)]


def test_equal_texts_are_two_questions() -> None:
    assert ids("Who?\nWho?\n") == ["line-1", "line-2"]


@pytest.mark.parametrize("key", ["id", "_id", "qid"])
def test_jsonl_keeps_ids_that_are_given(key: str) -> None:
    assert ids(f'{{"{key}": "a/b", "question": "Who?", "answers": [1]}}\n{{"{key}": 7, "question": "When?"}}') == [
        "a/b",
        "7",
    ]


def test_jsonl_without_ids_is_named_by_line() -> None:
    assert ids('\n{"question": "Who?"}\n{"id": null, "question": "When?"}', Form.JSONL) == ["line-2", "line-3"]


def test_tsv_is_id_and_question() -> None:
    assert read_questions(b'1\tWho "is" it?\n2\tWhen?\n', "q", Form.TSV)[0] == Asked("1", 'Who "is" it?', 1)


def test_tsv_with_a_header_takes_its_columns() -> None:
    read = read_questions(b"question\tanswers\tid\nWho?\t['x']\tx7\n", "q", Form.TSV)
    assert read == [Asked("x7", "Who?", 2)]
    assert ids("question\tanswers\nWho?\tx\n", Form.TSV) == ["line-2"]


def test_the_form_comes_from_the_ending_or_the_first_line(tmp_path: Path) -> None:
    for name, data in (("q.tsv", "1\tWho?"), ("q.jsonl", '{"id": 1, "question": "Who?"}')):
        (tmp_path / name).write_text(data)
        assert read_file(tmp_path / name)[0].id == "1"
    (tmp_path / "q.txt").write_text('{"id": 1, "question": "Who?"}')
    assert read_file(tmp_path / "q.txt")[0].id == "line-1"
    assert read_stream(io.BytesIO(b'{"id": 1, "question": "Who?"}'))[0].id == "1"
    assert read_stream(io.BytesIO(b"[1] what does this mean?"))[0].id == "line-1"


WRONG = {
    "not JSON": (b'{"question": "a"}\n{"question": "b"', Form.JSONL, "q:2"),
    "no object": (b'["a"]', Form.JSONL, "q:1"),
    "no question": (b'{"id": 1, "text": "a"}', Form.JSONL, "'question'"),
    "question is a number": (b'{"question": 3}', Form.JSONL, "q:1"),
    "blank question": (b'\n\n{"question": " "}', Form.JSONL, "q:3"),
    "blank id": (b'{"id": "", "question": "a"}', Form.JSONL, "id is empty"),
    "id is a list": (b'{"id": [1], "question": "a"}', Form.JSONL, r"q:1: the id is \[1\]"),
    "id is true": (b'{"id": true, "question": "a"}', Form.JSONL, "true"),
    "same id twice": (b'{"id": 1, "question": "a"}\n{"id": "1", "question": "b"}', Form.JSONL, "q:2.*line 1"),
    "half a surrogate pair": (b'{"question": "\\ud800"}', Form.JSONL, "surrogate"),
    "deep nesting": (b"[" * 100_000, Form.JSONL, "q:1"),
    "one column": (b"1\ta\n2", Form.TSV, "q:2: 1 columns"),
    "three columns": (b"1\ta\tb", Form.TSV, "id, question"),
    "not UTF-8": (b"a\nb\xff\n", Form.TEXT, "q:2.*byte 1"),
    "nothing": (b"", Form.TEXT, "no questions"),
    "only blanks": (b" \n\t\n", None, "no questions"),
    "only a header": (b"id\tquestion\n", Form.TSV, "no questions"),
}


@pytest.mark.parametrize(("data", "form", "said"), WRONG.values(), ids=WRONG)
def test_errors_name_the_line(data: bytes, form: Form | None, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        read_questions(data, "q", form)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not exist"):
        read_file(tmp_path / "absent.txt")
    with pytest.raises(UsageError, match="is a folder"):
        read_file(tmp_path)
