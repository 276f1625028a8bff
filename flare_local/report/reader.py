"""Reads runs for a report: folders of `eval`, rows of them, and folders of `batch`, which nothing judges."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from flare_local.errors import RunFault, UsageError
from flare_local.evaluation.folder import HEAD as EVALUATION
from flare_local.evaluation.folder import ITEMS, SCORES, VALUES
from flare_local.metrics.judge import cost
from flare_local.metrics.measures import COST
from flare_local.metrics.prediction import read_prediction
from flare_local.metrics.scores import Scores
from flare_local.report.comparing import compared
from flare_local.report.row import Bin, Figure, Key, Reliability, Report, Row
from flare_local.runs.folder import ERRORS, HEAD, QUESTIONS, RESULTS
from flare_local.runs.log import Line, read_lines
from flare_local.runs.shards import SHARD


@dataclass(frozen=True)
class Run:
    """One folder as it was named: its rows, and what was asked."""

    title: str
    about: tuple[str, ...]
    rows: tuple[Row, ...]
    questions: Mapping[Key, Line]
    reference: int  # place of the row that the others are compared with


def read_report(paths: Sequence[Path]) -> Report:
    """Raises `UsageError` where a folder is no run, `RunFault` where one was changed."""
    paths = [each for path in paths for each in _folders(path)]
    runs = [_run(path) for path in paths]
    names = [_name(path, paths) for path in paths]
    several = len(runs) > 1
    rows = tuple(
        replace(row, title=_joined(name, row.title)) if several else row
        for name, run in zip(names, runs, strict=True)
        for row in run.rows
    )
    questions: dict[Key, Line] = {}
    for run in runs:
        for key, line in run.questions.items():
            questions[key] = {**line, **questions.get(key, {})}
    titles = list(dict.fromkeys(run.title for run in runs))
    about = tuple(
        dict.fromkeys(
            f"{name}: {text}" if several else text for name, run in zip(names, runs, strict=True) for text in run.about
        )
    )
    return Report(", ".join(titles), about, rows, questions, compared(rows, _references(runs)))


def _references(runs: Sequence[Run]) -> dict[str, int]:
    """Task -> place of the row that all rows of the task are compared with: that of the first run of it."""
    found: dict[str, int] = {}
    before = 0
    for run in runs:
        found.setdefault(run.rows[run.reference].task, before + run.reference)
        before += len(run.rows)
    return found


def _joined(name: str, title: str) -> str:
    return title if name == title else f"{name}: {title}"


def _name(path: Path, paths: Sequence[Path]) -> str:
    """The folder's name, or as it was given where another is called the same."""
    alike = [each for each in paths if each.resolve().name == path.resolve().name]
    return path.resolve().name if len(alike) == 1 else str(path)


def _folders(path: Path) -> list[Path]:
    """The folder itself, or of the folder that `reproduce` wrote the evaluation of each task."""
    inside = sorted(each.parent for each in path.glob(f"*/{EVALUATION}"))
    return inside if inside and not (path / EVALUATION).is_file() else [path]


def _run(path: Path) -> Run:
    if (path / EVALUATION).is_file():
        return _evaluation(path)
    if (path / HEAD).is_file():
        above = path.resolve().parent
        if (above / EVALUATION).is_file():
            return _evaluation(above, path.resolve().name)
        return _batch(path)
    raise UsageError(f"{path} is no run.", "Name a folder that `flare-local eval` or `flare-local batch` wrote.")


def _evaluation(folder: Path, only: str | None = None) -> Run:
    head = _object(folder / EVALUATION)
    scores = _object(folder / SCORES) if (folder / SCORES).exists() else {}
    judged: dict[str, Any] = scores.get("rows", {})
    values = _values(folder / VALUES) if judged else {}
    questions = _questions(folder / ITEMS)
    try:
        asked = [row for row in head["rows"] if only in (None, row["name"])]
        rows = tuple(
            _row(
                folder / row["name"],
                str(row["title"]),
                str(row["method"]),
                questions,
                str(head["task"]),
                judged.get(row["name"]),
                values.get(row["name"], {}),
            )
            for row in asked
        )
        about = _about(head, bool(judged))
        title, reference = str(head["title"]), head["reference"]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise _changed(folder, error) from None
    if not rows:
        raise UsageError(f"{folder / str(only)} is no row of the evaluation in {folder}.", "Name one of its rows.")
    names = [row["name"] for row in asked]
    return Run(title, about, rows, questions, names.index(reference) if reference in names else 0)


def _about(head: Line, judged: bool) -> tuple[str, ...]:
    data = head["data"]
    chosen = f"{len(head['ids'])} of the {data['questions']} questions in {Path(str(data['path'])).name}"
    seed = "" if head.get("seed") is None else f", drawn with seed {head['seed']}"
    versions = ", ".join(f"{name} {version}" for name, version in head["versions"].items())
    said = [f"{chosen} (sha256 {str(data['sha256'])[:12]}){seed}.", f"Made with {versions}."]
    return tuple(said if judged else [*said, "Not judged: no scores.json is there yet."])


def _batch(folder: Path) -> Run:
    questions = _questions(folder / QUESTIONS)
    name = folder.resolve().name
    settings = _object(folder / HEAD).get("settings")
    method = str(settings.get("method", "")) if isinstance(settings, dict) else ""
    row = _row(folder, name, method, questions)
    return Run(
        name, (f"{len(questions)} questions. Nothing judges them: a run of flare-local batch.",), (row,), questions, 0
    )


def _row(
    folder: Path,
    title: str,
    method: str,
    questions: Mapping[Key, Line],
    task: str = "",
    judged: Line | None = None,
    values: Mapping[str, Mapping[str, float]] | None = None,
) -> Row:
    """Reads what is there, shards of processes that still work on it too."""
    results: dict[Key, Line] = {}
    errors: dict[Key, str] = {}
    for part in (folder, *sorted(folder.glob(f"{SHARD}*"))):
        for line in _lines(part / RESULTS):
            results[_key(line)] = line
        for line in _lines(part / ERRORS):
            errors[_key(line)] = str(line.get("error", ""))
    results = {key: line for key, line in results.items() if key in questions}
    errors = {key: text for key, text in errors.items() if key in questions and key not in results}
    head = _object(folder / HEAD) if (folder / HEAD).exists() else {}
    by_id = values or {}
    return Row(
        title=title,
        method=method,
        settings=head.get("settings", {}),
        asked=frozenset(questions),
        results=results,
        errors=errors,
        figures=_costs(results) if judged is None else tuple(_figure(each) for each in judged["columns"].values()),
        task=task,
        values={key: by_id[key[0]] for key in questions if key[0] in by_id},
        calibration={} if judged is None else {name: _bins(each) for name, each in judged["calibration"].items()},
    )


def _costs(results: Mapping[Key, Line]) -> tuple[Figure, ...]:
    """What answers cost, where nothing says whether they are right."""
    scores = Scores("open", {str(key): cost(read_prediction(line)) for key, line in results.items()}, {})
    columns = [scores.column(measure) for measure in COST]
    return tuple(_figure({**each.as_dict(), "percent": each.measure.percent}) for each in columns)


def _figure(line: Line) -> Figure:
    return Figure(**{name: line[name] for name in Figure.__dataclass_fields__})


def _bins(line: Line) -> Reliability:
    bins = tuple(Bin(each["count"], each["probability"], each["right"]) for each in line["bins"])
    return Reliability(bins, line["count"], line["gap"])


def _values(path: Path) -> dict[str, dict[str, dict[str, float]]]:
    """Name of a row -> id of a question -> its values."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    for line in _lines(path):
        found.setdefault(line["row"], {})[line["id"]] = line["values"]
    return found


def _questions(path: Path) -> dict[Key, Line]:
    return {_key(line): line for line in _lines(path)}


def _key(line: Line) -> Key:
    return str(line.get("id")), str(line.get("question"))


def _lines(path: Path) -> Iterator[Line]:
    found: list[Line] = []
    if path.exists():
        read_lines(path, found.append)
    return iter(found)


def _object(path: Path) -> Line:
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise _changed(path, error) from None
    if not isinstance(value, dict):
        raise _changed(path, TypeError("no JSON object"))
    return value


def _changed(path: Path, error: Exception) -> RunFault:
    return RunFault(f"{path} cannot be read ({type(error).__name__}: {error}).", "It was changed; run it anew.")
