"""`flare-local warm` and `--warm`, with a tiny model and a real index."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.shell import Said, Shell, is_one_clear_line
from tests.tiny_models import tiny_questions

QUESTION = "Who was Anna Borg?"
SHORT = ("--max-new-tokens", "24", "--look-ahead", "16")


@pytest.fixture
def exemplars(tmp_path: Path) -> Path:
    path = tmp_path / "exemplars.jsonl"
    rows = [{"instruction": "Be brief."}, {"question": "Who was Edda Falk?", "answer": "Edda Falk was a painter."}]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def say(shell: Shell, model: Path, index: Path, exemplars: Path) -> Any:
    """Command lines with the tiny model, the index and the exemplars."""

    def run(command: str, *words: str | Path) -> Said:
        return shell(command, "--model", model, "--index", index, "--exemplars", exemplars, *SHORT, *words)

    return run


@pytest.fixture
def file(say: Any, tmp_path: Path) -> Path:
    assert say("warm", "--out", tmp_path / "warm.safetensors").code == 0
    return tmp_path / "warm.safetensors"


def answer(said: Said) -> dict[str, Any]:
    assert said.code == 0, said.err
    value: dict[str, Any] = json.loads(said.out)
    return value


def test_the_file_goes_to_stdout_and_what_it_holds_to_stderr(say: Any, tmp_path: Path) -> None:
    said = say("warm", "--out", tmp_path / "w")
    assert said.code == 0
    assert said.out == f"{tmp_path / 'w'}\n"
    assert said.err.startswith("flare_direct: ")
    assert "MiB, computed and written in" in said.err
    value = answer(say("warm", "--out", tmp_path / "w", "--json"))
    assert (value["file"], value["bytes"]) == (str(tmp_path / "w"), (tmp_path / "w").stat().st_size)
    assert value["tokens"]["flare_direct"] > 20


def test_a_warm_answer_is_the_cold_one_and_its_exemplars_are_not_computed(say: Any, file: Path) -> None:
    cold, warm = (answer(say("ask", QUESTION, "--json", *words)) for words in ((), ("--warm", file)))
    assert warm["answer"] == cold["answer"]
    shared = answer(say("warm", "--out", file, "--json"))["tokens"]["flare_direct"]
    assert cold["counters"]["warm"] == 0
    assert warm["counters"]["warm"] == warm["counters"]["calls"] * shared
    assert cold["counters"]["useful"] - warm["counters"]["useful"] == shared
    assert warm["config"]["warm"] == str(file)


def test_one_file_serves_several_methods(say: Any, tmp_path: Path) -> None:
    methods = ("flare_direct", "single_time", "flare_instruct", "question_decomposition", "no_retrieval")
    out = tmp_path / "several"
    words = [word for method in methods for word in ("--method", method)]
    assert list(answer(say("warm", "--out", out, "--json", *words))["tokens"]) == list(methods)
    for method in methods:
        assert answer(say("ask", QUESTION, "--method", method, "--warm", out, "--json"))["counters"]["warm"] > 20


def test_prompts_of_explicit_queries_are_in_it(say: Any, file: Path) -> None:
    implicit = answer(say("warm", "--out", file, "--json"))["tokens"]["flare_direct"]
    explicit = answer(say("warm", "--out", file, "--json", "--query", "explicit"))["tokens"]["flare_direct"]
    assert explicit > implicit + 100


def test_exemplars_have_their_documents_in_it(say: Any, tmp_path: Path) -> None:
    out = tmp_path / "warm"
    assert say("warm", "--out", out, "--exemplar-documents").code == 0
    value = answer(say("ask", QUESTION, "--exemplar-documents", "--warm", out, "--json"))
    assert value["counters"]["warm"] > 0
    assert is_one_clear_line(say("ask", QUESTION, "--warm", out), code=1)


def test_a_batch_takes_it_and_the_run_is_not_bound_to_it(say: Any, file: Path, tmp_path: Path) -> None:
    (tmp_path / "questions").write_text("\n".join(tiny_questions(4, 71)))
    first = say("batch", tmp_path / "questions", "--out", tmp_path / "run", "--limit", "2")
    assert first.code == 0, first.err
    rest = say("batch", tmp_path / "questions", "--out", tmp_path / "run", "--warm", file)
    assert rest.code == 0, rest.err
    rows = [json.loads(line) for line in (tmp_path / "run" / "results.jsonl").read_text().splitlines()]
    assert [row["counters"]["warm"] > 0 for row in rows] == [False, False, True, True]


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--instruction", "Be long."], "other prompts"),
        (["--method", "question_decomposition"], "other prompts"),
        (["--dtype", "bfloat16"], "in float32; the model runs in bfloat16"),
        (["--context", "600"], "for a context of 2048 tokens; the model now has 600"),
        (["--kv-memory", "8KB"], "Raise --kv-memory above"),
        (["--no-reuse"], "--no-reuse"),
    ],
)
def test_what_it_was_not_written_for_is_refused_with_the_reason(
    say: Any, file: Path, words: list[str], reason: str
) -> None:
    said = say("ask", QUESTION, "--warm", file, *words)
    assert is_one_clear_line(said)
    assert reason in said.err
    assert said.out == ""


def test_another_model_is_refused(say: Any, file: Path, model: Path, tmp_path: Path) -> None:
    other = shutil.copytree(model, tmp_path / "other")
    (other / "generation_config.json").write_text("{}")
    said = say("ask", QUESTION, "--warm", file, "--model", other)
    assert is_one_clear_line(said, code=1)
    assert "another model: weights, config or tokenizer" in said.err


@pytest.mark.parametrize("content", [None, b"", b"no snapshot", b"\x10\x00\x00\x00\x00\x00\x00\x00{}              "])
def test_files_that_are_no_snapshots_are_refused(say: Any, tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "x").write_bytes(content)
    assert is_one_clear_line(say("ask", QUESTION, "--warm", tmp_path / "x"), code=1)


def test_without_exemplars_there_is_nothing_to_warm(shell: Shell, model: Path, index: Path, file: Path) -> None:
    task = ("--model", model, "--index", index)
    said = shell("warm", "--out", "w", *task)
    assert is_one_clear_line(said, code=2)
    assert "share nothing" in said.err
    assert not Path("w").exists()
    assert is_one_clear_line(shell("ask", QUESTION, *task, "--warm", file), code=1)


def test_other_files_are_never_replaced(say: Any, model: Path) -> None:
    weights = model / "model.safetensors"
    before = weights.read_bytes()
    said = say("warm", "--out", weights)
    assert is_one_clear_line(said, code=2)
    assert "is no snapshot; it is not replaced" in said.err
    assert weights.read_bytes() == before


def test_unknown_methods_and_places_that_cannot_be_written_are_one_clear_line(say: Any, tmp_path: Path) -> None:
    said = say("warm", "--out", tmp_path / "w", "--method", "flare_drect")
    assert is_one_clear_line(said, code=2)
    assert "Did you mean flare_direct?" in said.err
    assert is_one_clear_line(say("warm", "--out", "/proc/w"), code=1)


def test_a_full_disk_is_one_clear_line_and_leaves_nothing(tmp_path: Path, model: Path, exemplars: Path) -> None:
    full = (
        "import resource; from flare_local.cli import main\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000)); main()"  # bytes
    )
    words = ["warm", "--out", tmp_path / "out" / "w", "--model", model, "--exemplars", exemplars]
    words += ["--method", "no_retrieval"]
    done = subprocess.run([sys.executable, "-c", full, *map(str, words)], capture_output=True, text=True)
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith(f"error: {tmp_path / 'out' / 'w'} cannot be written: ")
    assert list((tmp_path / "out").iterdir()) == []


def test_the_demo_measures_from_an_empty_pool(shell: Shell) -> None:
    assert is_one_clear_line(shell("demo", "--measure", "--warm", "x"), code=2)
