"""`--question-model`: another model writes the questions of explicit queries, on the command line and in a batch."""

import json
from pathlib import Path
from typing import Any

import pytest

from flare_local.cli.opening import QUESTION_SLOTS
from flare_local.policies.methods import METHODS
from tests.cli.shell import Said, Shell, is_one_clear_line

QUESTION = "Who was Anna Borg?"
EXPLICIT = ["--query", "explicit", "--theta", "1", "--beta", "0.6"]


@pytest.fixture(scope="session")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny Mistral with a tokenizer of another kind."""
    import torch

    from tests.tiny_models import tiny_model, tiny_tokenizer

    folder = tmp_path_factory.mktemp("models") / "other"
    tiny_model("mistral", torch.float32, 1, "metaspace").save_pretrained(folder)
    tiny_tokenizer("metaspace").save_pretrained(folder)
    return folder


@pytest.fixture
def ask(shell: Shell, model: Path, index: Path) -> Any:
    def run(*words: str | Path) -> Said:
        return shell("ask", QUESTION, "--model", model, "--index", index, "--max-new-tokens", "24", *words)

    return run


def test_the_question_model_writes_the_questions_and_nothing_else(ask: Any, other: Path) -> None:
    from transformers import AutoTokenizer

    said = ask(*EXPLICIT, "--question-model", other, "--json", "--trace")
    assert (said.code, said.err) == (0, "")
    answer = json.loads(said.out)
    written = [writing["ids"] for step in answer["steps"] for writing in step["asked"]]
    theirs = [call for call in answer["calls"] if call["question_model"]]
    assert written
    assert [call["ids"] for call in theirs] == written
    tokenizer = AutoTokenizer.from_pretrained(other)
    assert all("Phrase: " in tokenizer.decode(call["prompt"]) for call in theirs)


def test_what_it_cost_is_counted_apart(ask: Any, other: Path) -> None:
    answer = json.loads(ask(*EXPLICIT, "--question-model", other, "--json", "--trace").out)
    for name, by_other in (("counters", False), ("question_counters", True)):
        calls = [call for call in answer["calls"] if call["question_model"] is by_other]
        assert answer[name]["calls"] == len(calls)
        assert answer[name]["run"] == sum(call["counters"]["run"] for call in calls)
    assert answer["question_counters"]["reused"] > 0
    assert json.loads(ask(*EXPLICIT, "--json").out)["question_counters"] is None


def test_an_answer_names_both_models(ask: Any, other: Path) -> None:
    config = json.loads(ask(*EXPLICIT, "--question-model", other, "--json").out)["config"]
    assert config["question_model"] == str(other)
    assert len(config["question_model_fingerprint"]) == 32
    assert config["question_model_fingerprint"] != config["fingerprint"]


def test_the_same_model_twice_answers_as_one(ask: Any, model: Path) -> None:
    assert ask(*EXPLICIT).out == ask(*EXPLICIT, "--question-model", model).out


def test_a_trace_says_who_asked_and_what_it_cost(ask: Any, other: Path) -> None:
    said = ask(*EXPLICIT, "--question-model", other, "--trace")
    assert "(question model)" in said.err
    assert "question model: " in said.err.splitlines()[-1]


@pytest.mark.parametrize("words", [[], ["--query", "implicit"], ["--method", "next_sentence", "--query", "explicit"]])
def test_without_explicit_queries_it_is_refused(ask: Any, other: Path, words: list[str]) -> None:
    said = ask("--question-model", other, *words)
    assert is_one_clear_line(said, code=2)
    assert "--query explicit" in said.err


@pytest.mark.parametrize("named", ["nowhere/at-all", "./nowhere", ".", "rubbish.gguf"])
def test_a_model_that_is_none_is_told_as_it_is_of_model(ask: Any, named: str) -> None:
    Path("rubbish.gguf").write_bytes(b"rubbish")
    said = ask(*EXPLICIT, "--question-model", named)
    assert is_one_clear_line(said, code=1)
    assert said.err == ask("--model", named).err


def test_a_dry_run_reads_its_tokenizer_and_shows_the_first_prompt(ask: Any, other: Path) -> None:
    said = ask(*EXPLICIT, "--question-model", other, "--dry-run")
    assert said.out == ask(*EXPLICIT, "--dry-run").out
    assert is_one_clear_line(ask(*EXPLICIT, "--question-model", "./nowhere", "--dry-run"), code=1)


def test_methods_name_the_option_where_it_is_one(shell: Shell) -> None:
    assert shell("methods").out.count("--question-model") == 1
    assert "question_model" in METHODS["flare_direct"].options


def test_a_batch_is_bound_to_the_question_model(shell: Shell, model: Path, other: Path, index: Path) -> None:
    Path("questions.txt").write_text(f"{QUESTION}\nWhere is the tower?\n", encoding="utf-8")
    words = ["batch", "questions.txt", "--out", "run", "--model", model, "--index", index, "--max-new-tokens", "24"]
    words += [*EXPLICIT, "--question-model"]
    said = shell(*words, other, "--limit", "1")
    assert said.code == 0, said.err
    assert "The question model: " in said.out
    session = json.loads(Path("run/sessions.jsonl").read_text())
    assert session["question_model"]["counters"]["calls"] > 0
    assert session["question_model"]["pool"]["slots"] == QUESTION_SLOTS + 2 * 24
    refused = shell(*words, model)
    assert is_one_clear_line(refused, code=1)
    assert "question_model_fingerprint was " in refused.err
    without = shell(*words[:-1])
    assert is_one_clear_line(without, code=1)
    assert "question_model_fingerprint was " in without.err
    assert shell(*words, other).code == 0


def test_a_batch_gives_the_answer_that_ask_gives(ask: Any, shell: Shell, model: Path, other: Path, index: Path) -> None:
    Path("questions.txt").write_text(f"{QUESTION}\nWhere is the tower?\n", encoding="utf-8")
    named = ["--model", model, "--index", index, "--max-new-tokens", "24"]
    assert shell("batch", "questions.txt", "--out", "run", *named, *EXPLICIT, "--question-model", other).code == 0
    rows = [json.loads(line) for line in Path("run/results.jsonl").read_text().splitlines()]
    asked = json.loads(ask(*EXPLICIT, "--question-model", other, "--json").out)
    [row] = [row for row in rows if row["question"] == QUESTION]
    assert [step["queries"] for step in row["steps"]] == [step["queries"] for step in asked["steps"]]
    assert row["answer"] == asked["answer"]
