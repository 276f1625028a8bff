"""An answer as it is judged: what a line of results.jsonl says of it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import nan
from pathlib import Path
from typing import Any

from flare_local.errors import RunFault, UsageError
from flare_local.runs.log import read_lines


@dataclass(frozen=True)
class Found:
    """A document that a search found."""

    id: str
    title: str


@dataclass(frozen=True)
class Prediction:
    """One answer, and what it cost."""

    id: str  # of its question
    text: str
    searches: tuple[tuple[Found, ...], ...] = ()  # what each search found, best first; the first may be the question's
    calls: int = 0  # of the language model
    sentences: int = 0
    triggered: int = 0  # sentences before which a search was due
    searched: int = 0  # sentences before which there was one
    tokens: int = 0  # of the sentences
    seconds: float = nan  # that the answer took, others running beside it
    probabilities: tuple[float, ...] = ()  # of its tokens, as the model gave them


def read_prediction(line: Mapping[str, Any]) -> Prediction:
    """From a line of results.jsonl (docs/json.md). Raises `RunFault` where it lacks what an answer has."""
    try:
        steps = line["steps"]
        first = [] if line["search"] is None else [line["search"]["documents"]]
        later = [step["documents"] for step in steps if step["queries"]]
        return Prediction(
            id=str(line["id"]),
            text=str(line["answer"]),
            searches=tuple(_found(documents) for documents in first + later),
            calls=int(line["counters"]["calls"]),
            sentences=len(steps),
            triggered=sum(bool(step["triggered"]) for step in steps),
            searched=len(later),
            tokens=sum(len(step["sentence"]["ids"]) for step in steps),
            seconds=float(line["counters"]["total_ms"]) / 1000,
            probabilities=tuple(float(p) for step in steps for p in step["sentence"]["probabilities"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        what = f"{type(error).__name__}: {error}"
        raise RunFault(f"The answer to question {line.get('id')} is not whole ({what}).", "Run it anew.") from None


def read_predictions(results: Path) -> list[Prediction]:
    """All answers of a run's results.jsonl. Raises `RunFault` where a line is broken or no answer, `UsageError` where
    there is no such file.
    """
    if not results.is_file():
        raise UsageError(f"{results} does not exist.", "Name the results.jsonl of a run.")
    found: list[Prediction] = []
    read_lines(results, lambda line: found.append(read_prediction(line)))
    return found


def _found(documents: Iterable[Mapping[str, Any]]) -> tuple[Found, ...]:
    return tuple(Found(str(document["id"]), str(document["title"])) for document in documents)
