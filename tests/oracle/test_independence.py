"""The oracle shares nothing with the product."""

import re
from pathlib import Path


def test_oracle_imports_nothing_of_the_product():
    for file in [*Path(__file__).parent.glob("*.py"), Path(__file__).parents[1] / "tiny_models.py"]:
        found = re.findall(r"^\s*(?:from|import)\s+(flare\w+)", file.read_text(encoding="utf-8"), re.MULTILINE)
        assert not found, f"{file.name} imports {found}"
