"""Questions and answers as the page's script reads them: texts made safe to read, numbers short.

`overview` is what the list of questions, its filters and its search need of every question; `details` is what one
opened question shows, read only then.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isfinite
from typing import Any

from flare_local.metrics.judge import is_right
from flare_local.metrics.measures import measures_of
from flare_local.report.row import Key, Report, Row
from flare_local.runs.log import Line
from flare_local.trace.safe_text import safe_line, safe_text

Json = dict[str, object]
DIGITS = 4  # of probabilities and scores
HASH = re.compile("[0-9a-f]{32,}")


def overview(report: Report) -> Json:
    """Rows, and of every question its text, gold answer and what became of it in each row."""
    return {
        "rows": [_row(row) for row in report.rows],
        "settings": _settings(report.rows),
        "questions": [
            {
                "id": safe_line(key[0]),
                "question": safe_text(key[1]),
                "gold": safe_line(_gold(item)),
                "rows": [_outcome(row, key) for row in report.rows],
            }
            for key, item in report.questions.items()
        ],
    }


def details(report: Report) -> Iterator[Json]:
    """Of every question, in order: what it is judged by, and its answer in each row."""
    for key, item in report.questions.items():
        yield {"gold": list(_judged_by(item)), "rows": [_answer(row, key, item) for row in report.rows]}


def _row(row: Row) -> Json:
    return {"title": safe_line(row.title), "theta": row.number("theta"), "beta": row.number("beta")}


def _settings(rows: Sequence[Row]) -> list[Json]:
    """Each setting that is not the same in all rows, with its value in each."""
    names = dict.fromkeys(name for row in rows for name in row.settings)
    found: list[Json] = []
    for name in names:
        values = [safe_line(shown(row.settings.get(name))) for row in rows]
        if len(set(values)) > 1:
            found.append({"name": safe_line(name), "values": values})
    return found


def shown(setting: object) -> str:
    """A setting as people read it."""
    if setting is None:
        return "none"
    if isinstance(setting, bool):
        return "yes" if setting else "no"
    if isinstance(setting, float):
        return f"{setting:g}"
    text = setting if isinstance(setting, str) else json.dumps(setting)
    return f"{text[:12]}…" if HASH.fullmatch(text) else text


def _outcome(row: Row, key: Key) -> Json | None:
    """None where the row was not asked."""
    if key not in row.asked:
        return None
    line = row.results.get(key)
    if line is None:
        return {"answer": None, "right": None, "triggered": 0, "searched": 0}
    steps = list(_dicts(line.get("steps")))
    return {
        "answer": safe_text(str(line.get("answer", ""))),
        "right": _right(row, key),
        "triggered": sum(bool(step.get("triggered")) for step in steps),
        "searched": sum(bool(step.get("queries")) for step in steps),
    }


def _right(row: Row, key: Key) -> float | None:
    values = row.values.get(key)
    return None if values is None else round(is_right(row.task, dict(values)), DIGITS)


def _gold(item: Line) -> str:
    """The gold answer in one line."""
    readings = [answer for reading in _dicts(item.get("readings")) for answer in _texts(reading.get("answers"))[:1]]
    return "; ".join(_texts(item.get("answers"))[:1] or readings)


def _judged_by(item: Line) -> Iterator[Json]:
    """Everything an answer is compared with: what it is called, and its texts."""
    answers = _texts(item.get("answers"))
    parts: list[tuple[str, Iterable[str]]] = [
        ("answer", answers[:1]),
        ("also right", answers[1:]),
        (
            "readings",
            [
                f"{reading.get('question', '')} — {' / '.join(_texts(reading.get('answers')))}"
                for reading in _dicts(item.get("readings"))
            ],
        ),
        ("long answers", _texts(item.get("long_answers"))),
        ("aspects", [f"{aspect.get('name', '')}: {aspect.get('text', '')}" for aspect in _dicts(item.get("aspects"))]),
        ("documents with the answer", _texts(item.get("supporting_titles")) or _texts(item.get("supporting_ids"))),
    ]
    for name, texts in parts:
        if found := [safe_text(text) for text in texts]:
            yield {"name": name, "texts": found}


def _answer(row: Row, key: Key, item: Line) -> Json:
    line = row.results.get(key)
    if line is None:
        return {"error": safe_text(row.errors.get(key, ""))}
    supporting = {*_texts(item.get("supporting_ids")), *_texts(item.get("supporting_titles"))}
    search = line.get("search")
    return {
        "values": list(_values(row, key)),
        "stop": safe_line(str(line.get("stop_reason", ""))),
        "search": _search(search, supporting) if isinstance(search, dict) else None,
        "steps": [_step(step, supporting) for step in _dicts(line.get("steps"))],
    }


def _values(row: Row, key: Key) -> Iterator[list[str]]:
    """What this answer was judged to be, as the columns of the tables call it."""
    values: Mapping[str, float] = row.values.get(key, {})
    for measure in measures_of(row.task) if row.task else ():
        if len(measure.of) == 1 and measure.of[0] in values:
            value = values[measure.of[0]]
            yield [measure.title, f"{100 * value:.0f}%" if measure.percent else f"{value:.3g}"]


def _search(search: Line, supporting: set[str]) -> Json:
    return {
        "queries": [safe_line(query) for query in _texts(search.get("queries"))],
        "documents": [_document(document, supporting) for document in _dicts(search.get("documents"))],
    }


def _document(document: Line, supporting: set[str]) -> Json:
    id, title, score = str(document.get("id", "")), str(document.get("title") or ""), document.get("score")
    return {
        "id": safe_line(id),
        "title": safe_line(title),
        "score": round(score, 2) if isinstance(score, int | float) else None,
        "gold": bool({id, title} & supporting),
    }


def _step(step: Line, supporting: set[str]) -> Json:
    found = _search(step, supporting)
    accepted = bool(step.get("accepted"))
    return {
        "triggered": bool(step.get("triggered")),
        "accepted": accepted,
        "draft": _writing(step.get("draft")),
        "asked": [safe_line(str(each.get("text", "")).strip()) for each in _dicts(step.get("asked"))],
        **found,
        "sentence": None if accepted and step.get("draft") else _writing(step.get("sentence")),
        "kept": safe_text(str(step.get("kept", ""))),
    }


def _writing(writing: object) -> Json | None:
    """A text with its tokens and their probabilities, where these were stored."""
    if not isinstance(writing, dict):
        return None
    text = safe_text(str(writing.get("text", "")))
    tokens, probabilities = _texts(writing.get("tokens")), writing.get("probabilities")
    if not tokens or not isinstance(probabilities, list) or len(tokens) != len(probabilities):
        return {"text": text}
    return {"tokens": [safe_line(token) for token in tokens], "p": [_probability(p) for p in probabilities]}


def _probability(value: object) -> float | None:
    return round(value, DIGITS) if isinstance(value, int | float) and isfinite(value) else None


def _dicts(values: object) -> Iterator[dict[str, Any]]:
    yield from (value for value in values if isinstance(value, dict)) if isinstance(values, list) else ()


def _texts(values: object) -> list[str]:
    return [str(value) for value in values] if isinstance(values, list) else []
