"""Whatever is wrong with a row is said with its line, and does not hide the other rows."""

import json
from pathlib import Path

import pytest

from flare_local.datasets.read import load_items, read_dataset
from flare_local.errors import UsageError
from tests.datasets import files

GOOD = b'{"id": "good", "question": "Who?", "answer": "Anna"}\n'
BAD_LINES = {
    "not JSON": (b'{"id": 1', "not JSON"),
    "a list": (b"[1]", "not a JSON object"),
    "no question": (b'{"id": 1, "answer": "x"}', "question is missing"),
    "question null": (b'{"id": 1, "question": null, "answer": "x"}', "question is null"),
    "blank question": (b'{"id": 1, "question": " ", "answer": "x"}', "question is empty"),
    "question a number": (b'{"id": 1, "question": 3, "answer": "x"}', "question is not a text"),
    "no answer": (b'{"id": 1, "question": "Who?"}', "no answer"),
    "answers a number": (b'{"id": 1, "question": "Who?", "answers": 3}', "answers is not a list"),
    "answers of numbers": (b'{"id": 1, "question": "Who?", "answers": [3]}', "not a text"),
    "blank answer": (b'{"id": 1, "question": "Who?", "answers": [""]}', "answers is empty"),
    "id true": (b'{"id": true, "question": "Who?", "answer": "x"}', "id is true"),
    "same id": (b'{"id": "good", "question": "Who?", "answer": "x"}', "the id 'good' is that of"),
    "half a pair": (b'{"id": 1, "question": "Who \\ud800?", "answer": "x"}', "surrogate"),
    "half a pair in the id": (b'{"id": "\\ud800", "question": "Who?", "answer": "x"}', "surrogate"),
    "not UTF-8": (b'{"id": 1, "question": "Who\xff?", "answer": "x"}', "not UTF-8"),
    "deep": (b'{"a":' * 100_000, "not JSON"),
    "huge number": (b'{"id": ' + b"9" * 5000 + b', "question": "Who?"}', "not JSON"),
    "pairs of nothing": (b'{"id": 1, "question": "Who?", "answer": "x", "qa_pairs": [3]}', "qa_pairs 1: not a JSON"),
    "support of objects": (b'{"id": 1, "question": "Who?", "answer": "x", "supporting_ids": [{}]}', "supporting_ids"),
}


@pytest.mark.parametrize(("line", "said"), BAD_LINES.values(), ids=BAD_LINES)
def test_a_bad_line_is_named_and_the_rest_is_read(tmp_path: Path, line: bytes, said: str) -> None:
    path = tmp_path / "q.jsonl"
    path.write_bytes(GOOD + b"\n" + line + b"\n" + GOOD.replace(b"good", b"better"))
    read = read_dataset(path, "open")
    assert [item.id for item in read.items] == ["good", "better"]
    assert [fault.line for fault in read.faults] == [3]
    assert read.faults[0].text.startswith(f"{path}:3: ")
    assert said in read.faults[0].text
    with pytest.raises(UsageError, match="data check"):
        load_items(path, "open")


def test_a_bad_element_of_an_array_has_its_line_and_row(tmp_path: Path) -> None:
    rows = [files.MULTIHOP[0], {"_id": 5, "question": "Who?", "context": [], "supporting_facts": [[1, 2]]}, 7]
    path = tmp_path / "dev.json"
    path.write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")
    read = read_dataset(path, "2wiki")
    assert [fault.line for fault in read.faults] == [3, 4]
    assert f"{path}:3 (row 2): supporting_facts" in read.faults[0].text
    assert len(read.items) == 1


def test_a_torn_array_keeps_what_stands_before_the_tear(tmp_path: Path) -> None:
    path = tmp_path / "dev.json"
    path.write_text("[\n" + ",\n".join(json.dumps(row) for row in files.MULTIHOP)[:-40])
    read = read_dataset(path, "2wiki")
    assert [item.id for item in read.items] == ["aa01"]
    assert read.faults[0].line == 3
    assert "not read" in read.faults[0].text


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "is empty"),
        (b" \n", "is empty"),
        (b"PK\x03\x04 and so on", "Unpack"),
        (b"\x1f\x8b and so on", "Unpack"),
        (b"id,question\n1,Who?\n", "no JSON"),
        (b"[]", "holds no questions"),
        (b"[1,]", "cannot be used"),
        (b'[{"_id": "\xff"}]', "not UTF-8"),
    ],
)
def test_a_file_of_another_kind_is_refused(tmp_path: Path, data: bytes, said: str) -> None:
    path = tmp_path / "dev.json"
    path.write_bytes(data)
    with pytest.raises(UsageError, match=said):
        load_items(path, "2wiki")


def test_what_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not exist"):
        load_items(tmp_path / "none.json", "2wiki")
    with pytest.raises(UsageError, match=r"queries\.jsonl"):
        load_items(tmp_path, "2wiki")
    with pytest.raises(UsageError, match=r"test\.jsonl"):
        load_items(tmp_path, "wikiasp")
    with pytest.raises(UsageError, match="Tasks are"):
        load_items(tmp_path, "3wiki")


WRONG_ROWS = {
    "answer neither yes nor no": ("strategyqa", {"id": 1, "question": "Is it?", "answer": "maybe"}, "neither"),
    "two right answers": ("strategyqa", {"input": "Is it?", "target_scores": {"Yes": 1, "No": 1}}, "which answer"),
    "no readings": ("asqa", {"id": 1, "question": "Who?", "qa_pairs": []}, "no reading"),
    "aspect of three": ("wikiasp", {"exid": "a", "title": "T", "targets": [["a", "b", "c"]]}, "lists of two"),
    "only empty aspects": ("wikiasp", {"exid": "a", "title": "T", "targets": [["a", " "]]}, "no aspect with a text"),
    "aspect without text": ("wikiasp", {"exid": "a", "title": "T", "targets": [["a", None]]}, "not a text"),
    "nameless": ("2wiki", {"question": "Who?", "answer": "x", "supporting_facts": []}, "_id is missing"),
}


@pytest.mark.parametrize(("task", "row", "said"), WRONG_ROWS.values(), ids=WRONG_ROWS)
def test_a_row_that_its_task_cannot_use(tmp_path: Path, task: str, row: dict[str, object], said: str) -> None:
    read = read_dataset(files.as_lines(tmp_path / "q.jsonl", [row]), task)
    assert read.items == ()
    assert said in read.faults[0].text


def test_bad_lines_of_aliases_hints_titles_and_qrels(tmp_path: Path) -> None:
    path = files.as_json(tmp_path / "dev.json", files.MULTIHOP)
    aliases = tmp_path / "id_aliases.json"
    aliases.write_text('{"Q_id": "Q13", "aliases": "Sund town"}\n{"aliases": []}\n{"Q_id": "Q13", "aliases": [1]}\n')
    assert [fault.line for fault in read_dataset(path, "2wiki").faults] == [2, 3]
    asqa = files.as_json(tmp_path / "ASQA.json", files.ASQA)
    hints = files.as_lines(tmp_path / "h.jsonl", [{"id": "-17", "hint": "Hint: x"}, {"id": "-17", "hint": ""}])
    assert [fault.line for fault in read_dataset(asqa, "asqa-hint", hints=hints).faults] == [1, 2]
    folder = files.beir(tmp_path / "beir")
    (folder / "qrels" / "dev.tsv").write_text("q1\td1\t1\nq1\td1\nq1\td1\thigh\n")
    assert [fault.line for fault in read_dataset(folder, "open").faults] == [2, 3]
    (tmp_path / "wikiasp_titles_annotated.tsv").write_text("only-an-id\n")
    wikiasp = files.as_lines(tmp_path / "test.jsonl", files.WIKIASP)
    assert "tab and a title" in read_dataset(wikiasp, "wikiasp").faults[0].text
