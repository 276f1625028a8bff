"""Hostile texts on the command line: nothing of them reaches terminal, options or file system as more than data."""

import json
from pathlib import Path

import pytest

from tests.cli.shell import Said, Shell
from tests.hostile.attacks import ATTACKS

SHORT = ["--max-new-tokens", "3", "--kv-memory", "64MiB"]


def only_data(said: Said) -> bool:
    """Whether a command ended well and printed nothing that a terminal obeys."""
    assert said.code == 0, said.err
    return all(character.isprintable() or character in "\n\t" for character in said.out + said.err)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Passages that are hostile in all their parts."""
    file = tmp_path_factory.mktemp("hostile") / "corpus.jsonl"
    rows = [{"id": attack, "title": attack, "text": f"ship {attack}"} for attack in ATTACKS.values()]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return file


@pytest.fixture
def index(shell: Shell, corpus: Path) -> Path:
    """Their index, in the working folder."""
    assert only_data(shell("index", "build", corpus, "--out", "index", "--kind", "bm25s"))
    return Path("index")


def test_a_search_prints_data(shell: Shell, index: Path) -> None:
    assert only_data(shell("index", "search", "ship", "--index", index, "--k", "50"))


@pytest.mark.parametrize("name", ["a cleared screen", "an option", "a Lucene query", "markup", "a chat turn", "an end"])
def test_an_answer_and_its_trace_are_data(shell: Shell, model: Path, index: Path, name: str) -> None:
    words = ["--model", model, "--index", index, "--top-k", "50", "--titles", *SHORT]
    for flags in (["--trace"], ["--dry-run"], ["--json"]):
        assert only_data(shell("ask", *words, *flags, "--", f"{ATTACKS[name]} ship"))


def test_a_run_keeps_hostile_ids_and_questions_in_its_own_files(shell: Shell, model: Path, index: Path) -> None:
    asked = {f"{number} {attack}": f"Who was {attack}?" for number, attack in enumerate(ATTACKS.values())}
    lines = [json.dumps({"id": id, "question": question}) + "\n" for id, question in asked.items()]
    Path("questions.jsonl").write_text("".join(lines), encoding="utf-8")
    words = ["--model", model, "--index", index, "--method", "single_time", *SHORT]
    assert only_data(shell("batch", "questions.jsonl", "--out", "run", *words))
    rows = [json.loads(line) for line in (Path("run") / "results.jsonl").read_text("ascii").splitlines()]
    assert {row["id"]: row["question"] for row in rows} == asked
    assert sorted(path.name for path in Path().iterdir()) == ["index", "questions.jsonl", "run"]
    assert all(path.is_file() for path in Path("run").iterdir())
