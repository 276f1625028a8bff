"""The exemplar files that come with the program, in the folder `data`, by name."""

from functools import cache
from pathlib import Path

from flare_local.tasks.exemplars import Exemplars, read_exemplars

FOLDER = Path(__file__).with_name("data")


@cache
def own_exemplars(name: str) -> Exemplars:
    """The exemplars in `data/{name}.jsonl`."""
    return read_exemplars(FOLDER / f"{name}.jsonl")
