"""Starting costs nothing: no model library and no JVM is imported before a command needs it."""

import subprocess
import sys

import pytest

HEAVY = {
    "torch",
    "transformers",
    "jnius",
    "nltk",
    "numpy",
    "accelerate",
    "safetensors",
    "gguf",
    "bm25s",
    "rich",
    "typer",
}
PRINT_HEAVY = f"import sys; print(sorted({HEAVY!r} & {{name.split('.')[0] for name in sys.modules}}))"


def heavy_after(code: str) -> str:
    script = f"import io, contextlib\nwith contextlib.redirect_stdout(io.StringIO()):\n    {code}\n{PRINT_HEAVY}"
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.parametrize(
    "code",
    [
        "import flare_local",
        "import flare_local.cli",
        "import flare_local.config",
        "import flare_local.datasets.read",
        "import flare_local.metrics.scores",
        "import flare_local.cli; flare_local.cli.run([])",
        "import flare_local.cli; flare_local.cli.run(['--help'])",
        "import flare_local.cli; flare_local.cli.run(['--version'])",
        "import flare_local.cli; flare_local.cli.run(['no-such-command'])",
    ],
)
def test_starting_imports_nothing_heavy(code: str) -> None:
    assert heavy_after(code) == "[]"


@pytest.mark.parametrize(
    "words",
    [
        ["ask", "--help"],
        ["index", "--help"],
        ["data", "--help"],
        ["eval", "--help"],
        ["reproduce", "--help"],
        ["demo", "--help"],
        ["doctor", "--help"],
        ["config", "show"],
        ["methods"],
    ],
)
def test_help_of_a_command_imports_no_model_and_no_jvm(words: list[str]) -> None:
    heavy = heavy_after(f"import flare_local.cli; flare_local.cli.run({words!r})")
    assert heavy in ("[]", "['typer']", "['rich', 'typer']")
