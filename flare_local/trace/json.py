"""An answer as one JSON object. docs/json.md describes every key."""

import json
from collections.abc import Iterator
from dataclasses import asdict
from math import isfinite

from flare_local.errors import FlareError
from flare_local.retrieval.document import Document
from flare_local.trace.events import Answer, Search, Step, Writing

Json = dict[str, object]


def answer_line(answer: Answer, full: bool = False) -> str:
    """One line of ASCII; see `answer_object`."""
    return json.dumps(answer_object(answer, full), allow_nan=False)


def answer_object(answer: Answer, full: bool = False) -> Json:
    """The object of `--json`. `full` adds every call of the model with its prompt: enough to prove the answer.

    Raises `FlareError` where a number is NaN or infinite: JSON has no such value.
    """
    value: Json = {
        "question": answer.question,
        "method": answer.method,
        "schedule": answer.schedule,
        "answer": answer.text,
        "stop_reason": answer.stop_reason.value,
        "search": None if answer.search is None else _search(answer.search),
        "steps": [_step(step) for step in answer.steps],
        "counters": answer.counters.as_dict(),
        "question_counters": None if answer.question_counters is None else answer.question_counters.as_dict(),
        "config": dict(answer.config),
        "versions": dict(answer.versions),
    }
    if full:
        value["calls"] = [_call(writing) for writing in answer.writings]
    for place, number in _numbers(value, ""):
        if not isfinite(number):
            raise FlareError(
                f"The answer cannot be written as JSON: {place.lstrip('.')} is {number}.",
                "The model computed it; try --dtype float32.",
            )
    return value


def _step(step: Step) -> Json:
    search = step.search
    return {
        "draft": None if step.draft is None else _writing(step.draft),
        "triggered": step.triggered,
        "accepted": step.accepted,
        "asked": [_writing(writing) for writing in step.asked],
        "queries": [] if search is None else list(search.queries),
        "documents": [] if search is None else [_document(document) for document in search.documents],
        "sentence": _writing(step.sentence),
        "foresight": None if step.foresight is None else asdict(step.foresight),
        "call": None if step.call is None else _writing(step.call),
        "kept": step.text,
        "prompt_tokens": {
            "draft": None if step.draft is None else len(step.draft.prompt),
            "sentence": None if step.accepted else len(step.sentence.prompt),
        },
        "cut": {
            "draft": None if step.draft is None else _cut(step.draft),
            "sentence": None if step.accepted else _cut(step.sentence),
        },
        "ms": {
            "draft": None if step.draft is None else step.draft.ms,
            "search": None if search is None else search.ms,
            "sentence": None if step.accepted else step.sentence.ms,
            "total": step.ms,
        },
    }


def _search(search: Search) -> Json:
    return {
        "queries": list(search.queries),
        "documents": [_document(document) for document in search.documents],
        "ms": search.ms,
    }


def _document(document: Document) -> Json:
    return {"id": document.id, "title": document.title, "score": document.score, "rank": document.rank}


def _cut(writing: Writing) -> Json | None:
    return None if writing.cut is None else asdict(writing.cut)


def _writing(writing: Writing) -> Json:
    generation = writing.generation
    return {
        "text": generation.text,
        "tokens": list(generation.pieces),
        "ids": list(generation.tokens),
        "probabilities": list(generation.probabilities),
        "stop": generation.stop.value,
        "eos_probability": generation.eos_probability,
    }


def _call(writing: Writing) -> Json:
    return {
        "prompt": list(writing.prompt),
        "documents": [document.id for document in writing.documents],
        "cut": _cut(writing),
        "limit": writing.max_new_tokens,
        "question_model": writing.question_model,
        **_writing(writing),
        "counters": writing.generation.counters.as_dict(),
    }


def _numbers(value: object, place: str) -> Iterator[tuple[str, float]]:
    """Every float in a JSON value with the way to it."""
    if isinstance(value, float):
        yield place, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _numbers(item, f"{place}.{key}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _numbers(item, f"{place}[{index}]")
