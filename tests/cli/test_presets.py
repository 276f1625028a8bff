"""`flare-local presets`, and `--preset` among the sources of options."""

import json
import re
from pathlib import Path

import pytest

from tests.cli.shell import Said, Shell, is_one_clear_line

PRESETS = ("2wiki", "strategyqa", "asqa", "asqa-hint", "wikiasp", "open")


def option(shown: Said, name: str) -> tuple[object, str]:
    """Value and source of an option in the output of `config show --json`."""
    entry = json.loads(shown.out)[name]
    return entry["value"], entry["source"]


def ascii_of(text: str) -> str:
    """What the tiny tokenizer keeps of a text."""
    return "".join(character for character in text if character.isascii())


def test_they_are_listed_with_their_settings(shell: Shell) -> None:
    said = shell("presets")
    assert said.code == 0
    assert [line.split()[0] for line in said.out.splitlines()[::2]] == list(PRESETS)
    assert 'theta = 0.4, beta = 0.4, query = "implicit", combine = false, top-k = 3' in said.out
    assert "6 exemplars" in said.out


@pytest.mark.parametrize("name", PRESETS)
def test_one_is_shown_with_settings_and_exemplars(shell: Shell, name: str) -> None:
    said = shell("presets", "show", name)
    assert said.code == 0
    assert "\ntheta = 0." in said.out
    assert "{question}" in said.out.splitlines()[-1] + said.out.splitlines()[-2] + said.out.splitlines()[-3]


def test_its_exemplar_file_can_be_taken_changed_and_used(shell: Shell, model: Path) -> None:
    file = Path("mine.jsonl")
    file.write_text(shell("presets", "show", "strategyqa", "--jsonl").out.replace("yes or no", "oui or non"))
    words = ["ask", "Is it?", "--model", model, "--method", "no_retrieval", "--preset", "strategyqa", "--dry-run"]
    said = shell(*words, "--exemplars", file)
    assert said.out.startswith("Answer with oui or non, ")
    assert said.out == shell(*words).out.replace("yes or no", "oui or non")


def test_an_unknown_one_is_one_clear_line(shell: Shell) -> None:
    assert is_one_clear_line(shell("presets", "show", "2wik"), code=2)
    assert is_one_clear_line(shell("ask", "Who?", "--preset", "hotpot"), code=2)


def test_a_preset_stands_before_defaults_and_behind_all_else(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("flare-local.toml").write_text('preset = "wikiasp"\ntop-k = 7\n')
    monkeypatch.setenv("FLARE_BETA", "0.2")
    shown = shell("config", "show", "--json", "--theta", "0.1")
    assert option(shown, "theta") == (0.1, "flag")
    assert option(shown, "beta") == (0.2, "environment FLARE_BETA")
    assert option(shown, "top_k") == (7, "file flare-local.toml")
    assert option(shown, "max_new_tokens") == (512, "preset wikiasp")
    assert option(shown, "look_ahead") == (64, "default")


def test_the_released_program_does_not_end_after_the_answer(shell: Shell) -> None:
    assert option(shell("config", "show", "--json", "--preset", "2wiki"), "end_after") == ("answer is", "preset 2wiki")
    released = shell("config", "show", "--json", "--preset", "2wiki", "--schedule", "released")
    assert option(released, "end_after") == (None, "default")


@pytest.mark.parametrize("name", PRESETS)
def test_a_dry_run_shows_its_prompt(shell: Shell, model: Path, index: Path, name: str) -> None:
    question = "Who was Anna Borg? Hint: h" if name == "asqa-hint" else "Who was Anna Borg?"
    said = shell("ask", question, "--model", model, "--index", index, "--preset", name, "--dry-run")
    assert said.code == 0
    without_documents = re.sub(r"^(Search results:|\[\d\] .*)\n", "", said.out, flags=re.MULTILINE)
    *exemplars, case = without_documents.strip().split("\n\n")
    shown = ascii_of(shell("presets", "show", name).out)
    assert exemplars
    assert [exemplar for exemplar in exemplars if ascii_of(exemplar) not in shown] == []
    assert "Who was Anna Borg?" in case
    assert "[1] " in said.out or " document" in said.err  # the tiny model's context holds the shorter presets only


def test_a_hint_is_asked_for_and_is_no_part_of_the_search(shell: Shell, model: Path, index: Path) -> None:
    file = Path("hints.jsonl")
    file.write_text('{"case": "{question} {hint}"}\n{"question": "Where?", "hint": "A place.", "answer": "Here."}\n')
    words = ["--model", model, "--index", index, "--exemplars", file, "--max-new-tokens", "4", "--json"]
    assert is_one_clear_line(shell("ask", "Who was Anna Borg?", *words), code=2)
    value = json.loads(shell("ask", "Who was Anna Borg? Hint: This is ambiguous.", *words).out)
    assert value["search"]["queries"] == ["Who was Anna Borg?"]


def test_the_embedded_index_comes_without_the_demo_s_settings(
    shell: Shell, model: Path, index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flare_local.embedded.embedded_index", lambda: index)
    words = ["--model", model, "--preset", "strategyqa", "--top-k", "1", "--max-new-tokens", "4", "--json"]
    said = shell("ask", "Who was Anna Borg?", *words)
    config = json.loads(said.out)["config"]
    assert said.err == "Using the embedded index of an invented town (--index).\n"
    assert (config["exemplars"], config["titles"], config["max_sentences"]) == (6, False, None)
