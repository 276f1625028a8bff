"""What a run is bound to: its questions and every setting that can change an answer, by value and by hash."""

import hashlib
import json
from collections.abc import Mapping, Sequence

from flare_local.runs.questions import Asked

Settings = Mapping[str, object]  # name -> JSON value
NAMED = 3  # ids named in one message


def binding_hash(settings: Settings, questions: Sequence[Asked]) -> str:
    """64 hexadecimal digits: equal exactly where nothing that can change an answer differs."""
    state = [plain(settings), [[asked.id, asked.question] for asked in questions]]
    return hashlib.sha256(json.dumps(state, sort_keys=True).encode()).hexdigest()


def plain(settings: Settings) -> dict[str, object]:
    """The settings as they come back from a JSON file."""
    values: dict[str, object] = json.loads(json.dumps(dict(settings), allow_nan=False))
    return values


def changed_settings(before: Settings, now: Settings) -> list[str]:
    """Each setting of `now` that was other before, in words."""
    return [
        f"{name} was {_shown(before.get(name))} and is {_shown(value)}"
        for name, value in plain(now).items()
        if before.get(name) != value
    ]


def changed_questions(before: Sequence[Asked], now: Sequence[Asked]) -> list[str]:
    """How the questions differ, in words; their lines and their order do not matter."""
    old = {asked.id: asked.question for asked in before}
    new = {asked.id: asked.question for asked in now}
    kinds = {
        "not there before": [id for id in new if id not in old],
        "gone": [id for id in old if id not in new],
        "of another text": [id for id in new if id in old and old[id] != new[id]],
    }
    return [f"{_count(ids)} {kind} ({_ids(ids)})" for kind, ids in kinds.items() if ids]


def _count(ids: Sequence[str]) -> str:
    return f"{len(ids)} question{'s' if len(ids) > 1 else ''}"


def _ids(ids: Sequence[str]) -> str:
    return ", ".join(ids[:NAMED]) + (", ..." if len(ids) > NAMED else "")


def _shown(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."
