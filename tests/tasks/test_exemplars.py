"""Exemplar files, good and bad."""

from pathlib import Path

import pytest

from flare_local.errors import UsageError
from flare_local.tasks.exemplars import CASE, Exemplar, Exemplars, put, read_exemplars, split_hint

GOOD = '{"question": "Where?", "answer": "Here."}'


def file(tmp_path: Path, *lines: str) -> Path:
    path = tmp_path / "exemplars.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def test_question_and_answer_are_enough(tmp_path: Path) -> None:
    exemplars = read_exemplars(file(tmp_path, GOOD, "", '{"question": "When?", "answer": "Now."}'))
    assert exemplars.examples == (Exemplar("Where?", "Here."), Exemplar("When?", "Now."))
    assert (exemplars.instruction, exemplars.case) == ("", CASE)


def test_documents_are_objects_or_texts(tmp_path: Path) -> None:
    line = '{"question": "q", "answer": "a", "documents": [{"id": "7", "title": "T", "text": "one"}, "two"]}'
    (exemplar,) = read_exemplars(file(tmp_path, line)).examples
    assert [(d.id, d.title, d.text, d.rank) for d in exemplar.documents] == [("7", "T", "one", 1), ("", "", "two", 2)]


def test_the_first_object_may_hold_an_instruction_and_the_way_questions_are_put(tmp_path: Path) -> None:
    head = '{"instruction": "Be brief.", "case": "Q: {question}\\nA:"}'
    exemplars = read_exemplars(file(tmp_path, head, GOOD))
    assert (exemplars.instruction, exemplars.case) == ("Be brief.", "Q: {question}\nA:")
    assert len(exemplars.examples) == 1


def test_a_byte_order_mark_and_windows_line_ends_are_read(tmp_path: Path) -> None:
    path = tmp_path / "exemplars.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + f"{GOOD}\r\n{GOOD}\r\n".encode())
    assert len(read_exemplars(path).examples) == 2


def test_line_separators_inside_a_string_do_not_split_it(tmp_path: Path) -> None:
    (exemplar,) = read_exemplars(file(tmp_path, '{"question": "a\u2028b\x85c", "answer": "a"}')).examples
    assert exemplar.question == "a\u2028b\x85c"


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["{"], "line 1: not JSON"),
        ([GOOD, "[1]"], "line 2: not a JSON object"),
        ([GOOD, '{"question": "q"}'], "line 2: `answer` is missing"),
        (['{"question": " ", "answer": "a"}'], "line 1: `question` is empty"),
        (['{"question": 7, "answer": "a"}'], "line 1: `question` is not a text"),
        (['{"question": "q", "answer": "a", "anwser": "b"}'], "line 1: unknown key 'anwser'"),
        (['{"question": "q", "answer": "a", "documents": "d"}'], "line 1: `documents` is not a list"),
        (['{"question": "q", "answer": "a", "documents": [1]}'], "line 1, document 1: neither a text nor an object"),
        (['{"question": "q", "answer": "a", "documents": [{"title": "t"}]}'], "document 1: `text` is missing"),
        (['{"question": "q", "answer": "a", "documents": [{"text": "t", "x": 1}]}'], "document 1: unknown key 'x'"),
        (['{"instruction": "i"}'], "no exemplars"),
        (['{"instruction": "i", "question": "q", "answer": "a"}'], "line 1: unknown key"),
        (['{"case": "Q:"}', GOOD], "line 1: `case` does not hold {question} once"),
        ([GOOD, '{"instruction": "i"}'], "line 2: unknown key 'instruction'"),
        (['{"question": "q", "hint": "h", "answer": "a"}'], "line 1: `hint` has no place"),
        (['{"question": "\\ud800", "answer": "a"}'], "line 1: `question` holds half of a surrogate pair"),
        (['{"case": "{question}{hint}"}', GOOD], "line 2: `hint` is missing"),
        (['{"case": "{question}{hint}{hint}"}', GOOD], "line 1: `case` holds {hint} more than once"),
        ([""], "no exemplars"),
        (["[" * 100_000], "line 1: not JSON"),
    ],
)
def test_a_wrong_line_is_named(tmp_path: Path, lines: list[str], said: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_exemplars(file(tmp_path, *lines))
    assert said in str(caught.value)


def test_an_absent_file_a_folder_and_foreign_bytes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file"):
        read_exemplars(tmp_path / "absent.jsonl")
    with pytest.raises(UsageError, match="cannot be read"):
        read_exemplars(tmp_path)
    path = tmp_path / "latin.jsonl"
    path.write_bytes(b'{"question": "caf\xe9"}')
    with pytest.raises(UsageError, match="not UTF-8"):
        read_exemplars(path)


def test_questions_may_come_with_hints(tmp_path: Path) -> None:
    head = '{"case": "Q: {question}\\nHint: {hint}\\nA:"}'
    exemplars = read_exemplars(file(tmp_path, head, '{"question": "q", "hint": "h", "answer": "a"}'))
    assert exemplars.hinted
    assert exemplars.examples == (Exemplar("q", "a", hint="h"),)


def test_a_hint_is_what_stands_behind_the_last_mark() -> None:
    assert split_hint("Who? Hint: one. Hint:  two.\n") == ("Who? Hint: one.", "two.")


@pytest.mark.parametrize("question", ["Who?", "Hint: h", "Who? Hint: "])
def test_a_question_without_its_hint_is_refused(question: str) -> None:
    with pytest.raises(UsageError, match="come with a hint"):
        split_hint(question)


def test_braces_in_a_question_or_a_hint_are_text() -> None:
    assert put("{question}|{hint}", "{hint} {0}", "{question}\\1") == "{hint} {0}|{question}\\1"


def test_the_last_examples_go_first_and_those_of_the_skill_before_last() -> None:
    before = Exemplars((Exemplar("1", "a"), Exemplar("2", "a")))
    exemplars = Exemplars((Exemplar("3", "a"), Exemplar("4", "a")), before=before)
    assert exemplars.count == 4
    left = exemplars.without_last(3)
    assert (left.examples, left.count) == ((), 1)
    assert left.before is not None
    assert left.before.examples == before.examples[:1]
    assert exemplars.without_last(0) == exemplars
