"""The stored text of a Lucene document, as Anserini's collections write it, split into title and text."""

import json
import re
from typing import Any

_TEXT_KEYS = ("text", "contents", "passage", "segment", "body", "abstract")  # in the order they are preferred
_QUOTED_TITLE = re.compile(r'"([^\n]*)"\n', re.DOTALL)


def title_and_text(raw: str) -> tuple[str, str]:
    """Title and text of one stored document; a title that is not there is empty.

    Formats: JSON with `text` or `contents` (contents that begin with the title and a line break lose it), JSON whose
    contents begin with a quoted title line (the DPR Wikipedia indexes), and plain text.
    """
    fields = _json_object(raw)
    if fields is None:
        return "", raw
    text = next((str(fields[key]) for key in _TEXT_KEYS if fields.get(key) is not None), raw)
    title = str(fields.get("title") or "")
    if title:
        return title, text.removeprefix(f"{title}\n")
    quoted = _QUOTED_TITLE.match(text)
    return (quoted.group(1), text[quoted.end() :]) if quoted else ("", text)


def _json_object(raw: str) -> dict[str, Any] | None:
    if not raw.lstrip().startswith("{"):
        return None
    try:
        value = json.loads(raw)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
