"""`flare-local demo` with a tiny model in place of the embedded one: what it prints, not what it answers."""

import json
from pathlib import Path

import pytest
import torch

from flare_local.embedded import embedded_index
from flare_local.embedded.measure import ARMS
from flare_local.profile.reader import read_profile
from flare_local.retrieval.open import open_index
from tests.cli.shell import Shell, is_one_clear_line
from tests.tiny_models import tiny_model, tiny_tokenizer


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache folder for this file; its embedded model is a random Llama whose context holds the exemplars."""
    folder = tmp_path_factory.mktemp("demo")
    patch = pytest.MonkeyPatch()
    patch.setenv("FLARE_CACHE", str(folder / "cache"))
    model = tiny_model("llama", dtype=torch.float32)
    model.config.max_position_embeddings = 8192
    model.save_pretrained(folder / "tiny")
    tiny_tokenizer().save_pretrained(folder / "tiny")
    patch.setattr("flare_local.cli.demo.embedded_model", lambda: folder / "tiny")
    yield folder / "cache"
    patch.undo()


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(capsys)


def test_the_index_is_built_once_and_finds_both_hops(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = embedded_index()
    assert "Building" in capsys.readouterr().err
    assert embedded_index() == folder
    assert capsys.readouterr().err == ""
    with open_index(folder) as index:
        queries = ["In which year was the architect of the Saltmarsh Hall born?", "Edwin Tarrow was born in"]
        hall, architect = index.search_now(queries, 1)
    assert (hall[0].id, architect[0].id) == ("building-01", "person-001")
    assert architect[0].title == "Edwin Tarrow"


def test_it_shows_steps_answer_verdict_and_counters(shell: Shell) -> None:
    said = shell("demo", "--limit", "1")
    assert said.code == 0, said.err
    for word in (
        "question",
        "found",
        "step 1",
        "draft",
        "answer",
        "wrong: it is 1701",
        "1 questions, 0 right",
        "reused",
    ):
        assert word in said.out
    assert "\x1b" not in said.out


def test_three_questions_are_shown_unless_limited(shell: Shell) -> None:
    said = shell("demo", "--json")
    assert said.code == 0, said.err
    answers = [json.loads(line) for line in said.out.splitlines()]
    assert [answer["question"].split(" of ")[1] for answer in answers] == [
        "the Saltmarsh Hall born?",
        "the Grey Heron born?",
        "The Salt Ledger born?",
    ]


def test_a_snapshot_of_the_same_exemplars_is_taken(shell: Shell, cache: Path, tmp_path: Path) -> None:
    out = tmp_path / "warm"
    assert shell("warm", "--model", cache.parent / "tiny", "--out", out).code == 0
    said = shell("demo", "--limit", "1", "--json", "--warm", out)
    assert said.code == 0, said.err
    assert json.loads(said.out)["counters"]["warm"] > 100


def test_measure_prints_both_groups_and_goes_on_where_it_stopped(shell: Shell, cache: Path) -> None:
    first = shell("demo", "--measure", "--limit", "1", "--json")
    assert first.code == 0, first.err
    table = json.loads(first.out)
    assert table["computed_now"] == 2 * len(ARMS)
    assert [row["arm"] for row in table["rows"]] == [arm.name for arm in ARMS] * 2
    again = shell("demo", "--measure", "--limit", "2", "--json")
    assert json.loads(again.out)["computed_now"] == 2 * len(ARMS)
    text = shell("demo", "--measure", "--limit", "2")
    for word in ("2 questions: two hops", "2 questions: other kinds", "accuracy (95 %)", "FLARE direct, top 1"):
        assert word in text.out


def test_its_profile_holds_its_questions(shell: Shell, tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    assert shell("demo", "--limit", "1", "--profile", path).code == 0
    assert [question.name for question in read_profile(path).questions] == [
        "In which year was the architect of the Saltmarsh Hall born?"
    ]


@pytest.mark.parametrize("limit", ["0", "-3", "many"])
def test_a_limit_that_makes_no_sense_is_refused(shell: Shell, limit: str) -> None:
    assert is_one_clear_line(shell("demo", "--limit", limit), code=2)
