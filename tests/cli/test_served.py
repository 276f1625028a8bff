"""Servers on the command line: `ask`, `batch`, `index load` and `index search`, and what is never shown."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.shell import Shell, is_one_clear_line
from tests.loopback import serving
from tests.retrieval.search_cluster import SearchCluster
from tests.served.completions_server import NAME, CompletionsServer

SECRET = "sk-very-secret-1234"


@pytest.fixture
def lm(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    with serving(CompletionsServer()) as url:
        monkeypatch.setenv("FLARE_LM_KEY", SECRET)
        yield f"openai:{url}/v1"


@pytest.fixture
def place() -> Iterator[str]:
    with serving(SearchCluster()) as url:
        yield f"opensearch:{url}/texts"


def loaded(shell: Shell, place: str) -> str:
    Path("corpus.jsonl").write_text(
        "".join(json.dumps({"id": str(n), "text": f"The harbour tower of town {n}"}) + "\n" for n in range(5))
    )
    said = shell("index", "load", place, "corpus.jsonl")
    assert (said.code, said.out.strip()) == (0, place)
    assert "5 documents; 5 sent" in said.err
    return place


def test_a_question_is_answered_as_by_the_same_model_here(shell: Shell, lm: str, place: str, model: Path) -> None:
    asked = ("ask", "Where is the tower?", "--index", loaded(shell, place), "--max-new-tokens", "16", "--theta", "0.3")
    here = shell(*asked, "--model", model, "--json", "--trace")
    there = shell(*asked, "--model", model, "--lm", lm, "--lm-model", NAME, "--json", "--trace")
    assert (here.code, there.code) == (0, 0), there.err
    ours, theirs = json.loads(here.out), json.loads(there.out)
    assert theirs["answer"] == ours["answer"]
    assert len(theirs["steps"]) == len(ours["steps"]) > 0
    assert SECRET not in there.out + there.err


def test_a_batch_goes_on_with_the_same_model_and_no_other(shell: Shell, lm: str, model: Path) -> None:
    Path("questions.txt").write_text("Who was Anna?\nWhere is the tower?\n")
    words = ("--lm", lm, "--lm-model", NAME, "--model", model, "--method", "no_retrieval", "--max-new-tokens", "8")
    said = shell("batch", "questions.txt", "--out", "run", *words)
    assert said.code == 0, said.err
    assert "2 answered, 0 failed" in said.out
    assert "KV pool" not in said.out
    assert "Nothing is left to do" in shell("batch", "--out", "run", *words).out
    assert is_one_clear_line(shell("batch", "--out", "run", "--model", model, "--method", "no_retrieval"))
    written = "".join(path.read_text() for path in Path("run").iterdir() if path.is_file())
    assert SECRET not in written + said.out + said.err


def test_a_search_and_a_dry_run(shell: Shell, lm: str, place: str, model: Path) -> None:
    loaded(shell, place)
    assert "The harbour tower of town" in shell("index", "search", "harbour tower", "--index", place).out
    words = ("--index", place, "--model", model, "--lm", lm, "--lm-model", NAME)
    said = shell("ask", "Where is the harbour?", *words, "--dry-run")
    assert said.code == 0, said.err
    assert "The harbour tower of town" in said.out


def test_the_configuration_shows_no_secret(shell: Shell, lm: str, model: Path) -> None:
    said = shell("config", "show", "--lm", lm, "--lm-model", NAME, "--model", model)
    assert lm in said.out
    assert SECRET not in said.out + said.err


@pytest.mark.parametrize(
    "words",
    [
        ("--lm", "openai:http://u:topsecret@host/v1", "--lm-model", "x", "--model", "y"),
        ("--index", "opensearch:http://u:topsecret@host/i"),
        ("--index", "searxng:http://u:topsecret@host"),
        ("--lm", "openai:http://host/v1"),
        ("--lm", "openai:http://host/v1", "--lm-model", "x"),
        ("--lm-model", "x"),
        ("--lm", "ollama:http://host", "--lm-model", "x", "--model", "y"),
        ("--web", "films"),
    ],
    ids=str,
)
def test_wrong_options_are_told_in_one_line_without_passwords(shell: Shell, words: tuple[str, ...]) -> None:
    for command in (("ask", "Who?"), ("config", "show")):
        said = shell(*command, *words)
        assert is_one_clear_line(said, code=2)
        assert "topsecret" not in said.err


@pytest.mark.parametrize(
    "words",
    [
        ("--index", "opensearch:http://host/i", "--k1", "1"),
        ("--index", "searxng:http://host", "--exclude-domains", "http://x"),
        ("--index", "opensearch:http://host"),
    ],
    ids=str,
)
def test_what_a_server_cannot_do_is_told_before_it_is_asked(shell: Shell, model: Path, words: tuple[str, ...]) -> None:
    assert is_one_clear_line(shell("ask", "Who?", "--model", model, *words), code=2)


def test_the_preset_of_the_open_web_leaves_out_the_papers_domains(shell: Shell) -> None:
    said = shell("config", "show", "--preset", "wikiasp")
    assert 'exclude-domains = "wikipedia.org,wikiwand.com,wiki2.org,wikimedia.org"' in said.out
