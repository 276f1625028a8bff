"""`flare-local ask`, with a tiny model and a real index."""

import io
import json
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from flare_local.policies.methods import METHODS
from tests.cli.shell import Said, Shell, is_one_clear_line, process

QUESTION = "Who was Anna Borg?"


@pytest.fixture
def ask(shell: Shell, model: Path, index: Path) -> Any:
    """`ask` with the tiny model and index, and short answers."""

    def run(*words: str | Path, question: str = QUESTION) -> Said:
        return shell("ask", question, "--model", model, "--index", index, "--max-new-tokens", "40", *words)

    return run


def stdin(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


def test_the_answer_goes_to_stdout_and_nothing_else_does(ask: Any) -> None:
    said = ask()
    answer = json.loads(ask("--json").out)["answer"]
    assert said.code == 0
    assert said.out == answer + "\n"
    assert said.err == ""


@pytest.mark.parametrize("method", METHODS)
def test_every_method_answers_and_its_trace_adds_up(ask: Any, method: str) -> None:
    said = ask("--method", method, "--query", "explicit", "--combine", "--json", "--trace", "--search-bias", "20")
    assert said.code == 0
    answer = json.loads(said.out)
    assert (answer["method"], answer["config"]["query"]) == (method, "explicit")
    assert answer["answer"] == "".join(step["kept"] for step in answer["steps"]).strip()
    written = [
        step["asked"] + [step["sentence"]] + [step["call"]] * (step["call"] is not None) for step in answer["steps"]
    ]
    drafts = sum(step["draft"] is not None and not step["accepted"] for step in answer["steps"])
    assert len(answer["calls"]) == sum(map(len, written)) + drafts


def test_a_trace_shows_the_questions_that_were_asked(ask: Any) -> None:
    said = ask("--query", "explicit", "--theta", "1", "--trace", "--max-sentences", "2")
    assert said.code == 0
    assert "asked " in said.err


@pytest.mark.parametrize(("terminal", "told"), [(True, "(empty answer)\n"), (False, "")])
def test_on_a_terminal_an_empty_answer_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], terminal: bool, told: str
) -> None:
    from rich.console import Console

    from flare_local.cli import ask as command

    monkeypatch.setattr(command, "err", lambda: Console(stderr=True, force_terminal=terminal, color_system=None))
    command._say_if_empty(SimpleNamespace(text=""))
    assert capsys.readouterr() == ("", told)


def test_json_is_one_line_with_config_and_versions(ask: Any, model: Path, index: Path) -> None:
    said = ask("--json", "--theta", "0.6", "--schedule", "released", "--no-reuse")
    assert said.out.count("\n") == 1
    value = json.loads(said.out)
    config = value["config"]
    assert (value["method"], value["schedule"]) == ("flare_direct", "released")
    assert (config["theta"], config["reuse"]) == (0.6, False)
    assert (config["model"], config["index"]) == (str(model), str(index))
    assert len(config["fingerprint"]) == 32
    assert config["index_hash"]
    assert "calls" not in value


def test_json_with_trace_has_every_call(ask: Any) -> None:
    value = json.loads(ask("--json", "--trace").out)
    steps = value["steps"]
    assert len(value["calls"]) == sum(1 if step["accepted"] else 2 for step in steps)
    assert len(value["calls"][0]["prompt"]) == steps[0]["prompt_tokens"]["draft"]


def test_trace_shows_the_steps_on_stderr_and_the_answer_on_stdout(ask: Any) -> None:
    said = ask("--trace", "--theta", "1")
    answer = json.loads(ask("--json", "--theta", "1").out)["answer"]
    assert said.out.strip() == answer.strip()
    for word in ("question   " + QUESTION, "step 1", "draft  ", "query  ", "sentence  ", "ended  ", "model calls"):
        assert word in said.err
    assert "\x1b" not in said.out + said.err


def test_dry_run_prints_the_prompt_that_would_be_sent(ask: Any) -> None:
    said = ask("--dry-run", "--top-k", "1", "--instruction", "Be brief.")
    assert said.code == 0
    assert said.out.startswith("Be brief.\n\nSearch results:\n[1] ")
    assert said.out.endswith(f"Question: {QUESTION}\nAnswer:\n")
    sent = json.loads(ask("--json", "--trace", "--top-k", "1", "--instruction", "Be brief.").out)["calls"][0]["prompt"]
    assert said.err.startswith(f"{len(sent)} tokens;")


def test_no_retrieval_needs_no_index(shell: Shell, model: Path) -> None:
    said = shell("ask", QUESTION, "--model", model, "--method", "no_retrieval", "--max-new-tokens", "8", "--json")
    assert said.code == 0
    assert said.err == ""
    assert json.loads(said.out)["search"] is None


def test_single_time_searches_once(ask: Any) -> None:
    value = json.loads(ask("--method", "single_time", "--json").out)
    assert value["search"]["queries"] == [QUESTION]
    assert all(step["queries"] == [] for step in value["steps"])


def test_a_question_comes_from_standard_input(ask: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    stdin(monkeypatch, f"{QUESTION}\n".encode())
    assert json.loads(ask("--json", question="-").out)["question"] == QUESTION


def test_exemplars_stand_in_the_prompt(ask: Any, tmp_path: Path) -> None:
    file = tmp_path / "exemplars.jsonl"
    file.write_text('{"question": "Where?", "answer": "Here.", "documents": [{"title": "T", "text": "Map."}]}\n')
    said = ask("--dry-run", "--exemplars", file, "--titles")
    assert said.out.startswith("Search results:\n[1] T: Map.\nQuestion: Where?\nAnswer: Here.\n\n")


@pytest.mark.parametrize(
    ("words", "key", "value"),
    [
        (["--max-sentences", "1"], "stop_reason", ("max_sentences", "eos", "stop")),
        (["--end-after", "."], "stop_reason", ("end_after", "eos", "stop")),
        (["--max-new-tokens", "3"], "stop_reason", ("length", "eos", "stop")),
        (["--first-sentence", "accept", "--theta", "1"], "schedule", ("paper",)),
        (["--no-initial-retrieval"], "search", (None,)),
        (["--unit", "paragraph"], "method", ("flare_direct",)),
        (["--unit", "tokens:5", "--look-ahead", "8"], "method", ("flare_direct",)),
        (["--temperature", "0.8", "--top-p", "0.9", "--seed", "7"], "method", ("flare_direct",)),
        (["--bm25", "paper", "--query-tokens", "4"], "method", ("flare_direct",)),
        (["--splitter", "trained"], "method", ("flare_direct",)),
    ],
)
def test_options_reach_the_method(ask: Any, words: list[str], key: str, value: tuple[object, ...]) -> None:
    said = ask("--json", *words)
    assert said.code == 0, said.err
    assert json.loads(said.out)[key] in value


def test_the_same_seed_gives_the_same_answer_and_another_another(ask: Any) -> None:
    warm = ["--json", "--temperature", "1.5"]
    first, again, other = (json.loads(ask(*warm, "--seed", seed).out)["answer"] for seed in ("1", "1", "2"))
    assert first == again != other


@pytest.mark.parametrize("question", ["", "  \n"])
def test_an_empty_question_is_refused(ask: Any, question: str) -> None:
    assert is_one_clear_line(ask(question=question), code=2)


def test_a_question_on_standard_input_that_is_not_utf8_is_refused(ask: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    stdin(monkeypatch, b"caf\xe9?")
    assert is_one_clear_line(ask(question="-"), code=2)


def test_a_unit_longer_than_the_look_ahead_is_refused(ask: Any) -> None:
    assert is_one_clear_line(ask("--unit", "tokens:20", "--look-ahead", "10"), code=2)


def test_no_chat_template_is_one_line(ask: Any) -> None:
    assert is_one_clear_line(ask("--chat-template"), code=1)


def test_a_chat_template_stands_around_the_prompt(ask: Any, model: Path, tmp_path: Path) -> None:
    chat = tmp_path / "chat"
    shutil.copytree(model, chat)
    (chat / "chat_template.jinja").write_text("{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}<me>")
    said = ask("--model", chat, "--chat-template", "--dry-run", "--no-initial-retrieval")
    assert said.out == f"<user>Question: {QUESTION}\nAnswer:<me>\n"
    assert ask("--model", chat, "--chat-template").code == 0


def test_what_was_written_before_an_error_is_a_line_of_its_own(ask: Any) -> None:
    said = ask("--context", "60", "--no-initial-retrieval", "--max-new-tokens", "200", "--theta", "0")
    assert said.code == 1
    assert is_one_clear_line(said)
    assert said.out == "" or said.out.endswith("\n")


def test_a_prompt_too_long_for_the_context_is_cut_and_that_is_said(ask: Any) -> None:
    words = ["--context", "90", "--top-k", "20"]
    said = ask(*words)
    assert said.code == 0
    assert said.err.startswith("Left out, as the model's context is full: ")
    assert said.err.count("\n") == 1
    value = json.loads(ask(*words, "--json", "--trace").out)
    cuts = [call["cut"] for call in value["calls"]]
    assert cuts[0]["documents"] + cuts[0]["words"] > 0
    assert [cut for step in value["steps"] for cut in step["cut"].values() if cut] == [cut for cut in cuts if cut]
    assert all(len(call["prompt"]) + call["limit"] <= 90 for call in value["calls"])
    assert "left out   " in ask(*words, "--trace").err
    assert "Left out" in ask(*words, "--dry-run").err


def test_a_prompt_too_long_for_the_context_is_refused_on_demand(ask: Any) -> None:
    for words in ([], ["--dry-run"]):
        said = ask("--context", "90", "--top-k", "20", "--overflow", "error", *words)
        assert is_one_clear_line(said, code=1)
        assert "the model holds 90" in said.err


def test_a_process_of_its_own_answers_alike(ask: Any, model: Path, index: Path) -> None:
    words = ["ask", QUESTION, "--model", model, "--index", index, "--max-new-tokens", "40"]
    said = process(*words)
    assert (said.code, said.err) == (0, "")
    assert said.out == ask().out


@pytest.fixture
def embedded(monkeypatch: pytest.MonkeyPatch, model: Path, index: Path) -> None:
    """Tiny model and index in place of the embedded ones."""
    monkeypatch.setattr("flare_local.embedded.embedded_model", lambda: model)
    monkeypatch.setattr("flare_local.embedded.embedded_index", lambda: index)


@pytest.mark.usefixtures("embedded")
def test_without_model_and_index_the_embedded_ones_answer_and_that_is_said(shell: Shell) -> None:
    said = shell("ask", QUESTION, "--max-new-tokens", "20", "--json")
    config = json.loads(said.out)["config"]
    assert said.err.startswith("Using the embedded model SmolLM2-135M-Instruct (--model) and the embedded index")
    assert (config["titles"], config["top_k"], config["end_after"]) == (True, 1, "answer is")
    assert config["exemplars"] == 4


@pytest.mark.usefixtures("embedded")
def test_what_the_user_sets_stands_before_the_demo_s_settings(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLARE_END_AFTER", "town")
    said = shell("ask", QUESTION, "--max-new-tokens", "20", "--json", "--top-k", "3", "--no-titles")
    config = json.loads(said.out)["config"]
    assert (config["titles"], config["top_k"], config["end_after"]) == (False, 3, "town")


@pytest.mark.usefixtures("embedded")
def test_the_demo_s_settings_do_not_reach_an_index_of_the_user_s(shell: Shell, index: Path) -> None:
    said = shell("ask", QUESTION, "--max-new-tokens", "20", "--json", "--index", index)
    config = json.loads(said.out)["config"]
    assert said.err == "Using the embedded model SmolLM2-135M-Instruct (--model).\n"
    assert (config["titles"], config["top_k"], config["exemplars"]) == (False, 2, 0)


@pytest.mark.usefixtures("embedded")
def test_a_model_of_the_user_s_without_retrieval_gets_nothing_of_the_demo(shell: Shell, model: Path) -> None:
    said = shell("ask", QUESTION, "--model", model, "--method", "no_retrieval", "--max-new-tokens", "8", "--json")
    assert said.err == ""
    assert json.loads(said.out)["config"]["exemplars"] == 0


def test_searching_ahead_changes_no_answer_and_is_shown(ask: Any) -> None:
    plain, ahead = json.loads(ask("--json").out), json.loads(ask("--json", "--search-ahead").out)
    assert ahead["answer"] == plain["answer"]
    assert all(step["foresight"] is None for step in plain["steps"])
    assert ask("--trace", "--search-ahead").code == 0
