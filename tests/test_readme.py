"""Every command and every program of the README runs, in a folder that has what they name."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from flare_local.policies.methods import METHODS
from tests.tiny_models import tiny_model, tiny_tokenizer

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
TEXTS = (
    "The harbour bridge was built by Olga Brandt in 1904.",
    "The lighthouse stands north of the harbour.",
    "Olga Brandt was an engineer. She was born in Sund.",
)


def blocks(language: str) -> list[str]:
    """The contents of the README's code blocks in one language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)


def commands() -> list[str]:
    """The README's command lines, in order."""
    return [line for block in blocks("bash") for line in block.splitlines() if line.strip()]


SCRIPTS = [command for command in commands() if command.startswith("bash scripts/")]
QUICK = [command for command in commands() if command not in SCRIPTS]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A working folder with `my-texts.jsonl`, `my-questions.jsonl` and `my-model`; the commands make the rest."""
    folder = tmp_path_factory.mktemp("readme")
    rows = [{"id": f"t{number}", "title": "", "text": text} for number, text in enumerate(TEXTS)]
    (folder / "my-texts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    asked = {"id": "q1", "question": "Who built the harbour bridge?", "answers": ["Olga Brandt"]}
    (folder / "my-questions.jsonl").write_text(json.dumps(asked) + "\n", encoding="utf-8")
    tiny_model("llama", dtype=torch.float32).save_pretrained(folder / "my-model")
    tiny_tokenizer().save_pretrained(folder / "my-model")
    return folder


def run(command: list[str], folder: Path, limit: int = 300) -> subprocess.CompletedProcess[str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "FLARE_CACHE": str(folder / "cache"), "HF_HUB_OFFLINE": "1"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=limit)


def test_the_commands_run_in_the_order_of_the_readme(folder: Path) -> None:
    assert len(QUICK) >= 8
    for command in QUICK:
        done = run(["bash", "-c", command], folder)
        assert done.returncode == 0, f"{command}\n{done.stderr}"
        assert done.stdout.strip() or done.stderr.strip(), command
        assert "Traceback" not in done.stderr


def test_the_programs_run_after_the_commands(folder: Path) -> None:
    assert blocks("python")
    if not (folder / "my-index").exists():
        assert run(["bash", "-c", QUICK[0]], folder).returncode == 0
    for program in blocks("python"):
        done = run([sys.executable, "-c", program], folder)
        assert done.returncode == 0, done.stderr
        assert "reused" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("command", [command for command in SCRIPTS if "test.sh" not in command])
def test_the_scripts_run(command: str) -> None:
    """In the repository itself, with the caches of the user: the network may be needed. test.sh is what runs this."""
    done = subprocess.run(["bash", "-c", command], cwd=ROOT, capture_output=True, text=True, timeout=3600)
    assert done.returncode == 0, done.stderr


def test_every_link_leads_somewhere() -> None:
    links = re.findall(r"\]\(([^)#]+)\)", README)
    assert len(links) >= 8
    for link in links:
        assert link.startswith("https://") or (ROOT / link).exists(), link


def test_the_table_of_methods_is_complete() -> None:
    assert re.findall(r"^\| `(\w+)` \| [^|]+ \|$", README, re.MULTILINE) == list(METHODS)


def test_the_transcript_is_of_the_town_as_it_is() -> None:
    """Documents and questions that the transcript shows are those of the embedded files, word for word."""
    transcript = "".join(blocks("text"))
    embedded = ROOT / "flare_local" / "embedded"
    passages = [json.loads(line) for line in (embedded / "passages.jsonl").read_text(encoding="utf-8").splitlines()]
    known = {f"{passage['title']}: {passage['text']}" for passage in passages}
    found = re.findall(r"^found +\[1\] (.*?)  [\d.]+$", transcript, re.MULTILINE)
    assert found
    assert set(found) <= known
    questions = (embedded / "questions.jsonl").read_text(encoding="utf-8")
    asked = re.findall(r"^question +(.*)$", transcript, re.MULTILINE)
    assert asked
    assert all(json.dumps(question) in questions for question in asked)
