"""`flare-local data check` and `flare-local data hints`."""

import asyncio
import json
from pathlib import Path

import pytest

from flare_local.cli.commands import COMMANDS
from flare_local.datasets.hint_writing import HintFile, write_hints
from flare_local.datasets.item import Item
from flare_local.datasets.read import load_items
from flare_local.errors import FlareError, RunFault
from flare_local.policies.hint import write_hint
from tests.cli.shell import Shell, is_one_clear_line
from tests.datasets import files
from tests.policies.scripted import ScriptedModel, says

ITEMS = [Item(str(number), f"Who was number {number}?", number) for number in range(6)]


def test_check_says_what_was_found_and_what_is_missing(shell: Shell, tmp_path: Path) -> None:
    said = shell("data", "check", files.as_json(tmp_path / "dev.json", files.MULTIHOP), "--task", "2wiki")
    assert said.code == 0
    assert "2WikiMultihopQA: 2 questions" in said.out
    assert "2 have supporting documents" in said.out
    assert "missing: No id_aliases.json" in said.out
    assert "aa01 (line 1)" in said.out
    assert 'answers: ["Sund"]' in said.out


def test_check_names_every_row_that_cannot_be_used(shell: Shell, tmp_path: Path) -> None:
    path = tmp_path / "q.jsonl"
    path.write_text('{"question": "Who?", "answer": "x"}\n' + '{"question": ""}\n' * 30)
    said = shell("data", "check", path, "--task", "open")
    assert is_one_clear_line(said, code=1)
    assert f"not used: {path}:2: question is empty." in said.out
    assert "10 more" in said.out
    said = shell("data", "check", path, "--task", "open", "--json")
    value = json.loads(said.out)
    assert [fault["line"] for fault in value["faults"]] == list(range(2, 32))
    assert value["questions"] == 1


def test_check_prints_hostile_text_as_text(shell: Shell, tmp_path: Path) -> None:
    row = {"id": "\x1b[2J", "question": "Who \x1b[31m?", "answer": "\u202ex"}
    said = shell("data", "check", files.as_lines(tmp_path / "q.jsonl", [row]), "--task", "open")
    assert "\x1b" not in said.out
    assert "\u202e" not in said.out


def test_check_refuses_what_is_no_task_or_no_file(shell: Shell, tmp_path: Path) -> None:
    assert is_one_clear_line(shell("data", "check", tmp_path, "--task", "squad"), code=2)
    assert is_one_clear_line(shell("data", "check", tmp_path / "none", "--task", "2wiki"), code=2)
    assert "data" in COMMANDS


def test_a_hint_is_asked_for_with_the_tasks_own_hints_as_examples() -> None:
    model = ScriptedModel([says(" which", 0.9, " bridge is meant.", 0.9, "\nQuestion", 0.9)])
    hint = asyncio.run(write_hint(model, "When was the\nbridge opened?"))
    assert hint == "This question is ambiguous in terms of which bridge is meant."
    (prompt,) = model.prompts
    assert "Hint: This question is ambiguous in terms of which film of that name" in prompt
    assert prompt.endswith("Question: When was the bridge opened?\nHint: This question is ambiguous in terms of")
    assert asyncio.run(write_hint(ScriptedModel([says("\n", 0.9)]), "Who?")) == ""


def written(path: Path, items: list[Item], model: str = "m", fail: str = "") -> list[str]:
    async def write(item: Item) -> str:
        if item.id == fail:
            raise FlareError("does not fit")
        return f"This question is ambiguous in terms of {item.id}."

    file = HintFile(path, model)
    try:
        return asyncio.run(write_hints(items, write, file, lambda done, total: None, concurrency=2))
    finally:
        file.close()


def test_hints_go_on_where_they_stopped(tmp_path: Path) -> None:
    path = tmp_path / "hints.jsonl"
    assert written(path, ITEMS[:3], fail="1") == ["1"]
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"id": "torn')
    assert written(path, ITEMS) == []
    assert path.read_bytes().startswith(whole)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert sorted(line["id"] for line in lines) == [item.id for item in ITEMS]
    assert list(tmp_path.iterdir()) == [path]


def test_hints_of_two_models_are_not_mixed(tmp_path: Path) -> None:
    written(tmp_path / "hints.jsonl", ITEMS[:2])
    with pytest.raises(RunFault, match="another model"):
        written(tmp_path / "hints.jsonl", ITEMS, model="n")
    file = HintFile(tmp_path / "hints.jsonl", "m")
    with pytest.raises(RunFault, match="Another process"):
        HintFile(tmp_path / "hints.jsonl", "m")
    file.close()


def test_hints_are_not_written_into_another_file(tmp_path: Path) -> None:
    files.as_lines(tmp_path / "q.jsonl", [{"id": 1, "question": "Who?"}])
    with pytest.raises(RunFault, match="no file of hints"):
        HintFile(tmp_path / "q.jsonl", "m")


def test_the_command_writes_hints_that_the_task_takes(shell: Shell, tmp_path: Path, model: Path) -> None:
    path = files.as_json(tmp_path / "ASQA.json", files.ASQA)
    said = shell("data", "hints", path, "--out", tmp_path / "h.jsonl", "--model", model)
    assert said.code == 0, said.err
    assert said.out.strip() == str(tmp_path / "h.jsonl")
    (item,) = load_items(path, "asqa-hint", hints=tmp_path / "h.jsonl").items
    assert item.hint.startswith("This question is ambiguous in terms of")
