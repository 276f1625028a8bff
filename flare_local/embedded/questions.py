"""The embedded questions, and whether an answer is right."""

import json
import re
from dataclasses import dataclass
from pathlib import Path

QUESTIONS = Path(__file__).with_name("questions.jsonl")
GROUPS = {
    "two-hop": "two hops, the kind that the exemplars show",
    "other": "other kinds: one hop, via a place, comparison",
}
SHOWN = ("q01", "q14", "q22")  # the first of architects, captains and authors


@dataclass(frozen=True)
class Question:
    """One question with its only answer and the ids of the passages that it rests on."""

    id: str
    group: str
    kind: str
    question: str
    answer: str
    supporting_ids: tuple[str, ...]


def read_questions() -> list[Question]:
    """All sixty, in order."""
    rows = [json.loads(line) for line in QUESTIONS.read_text(encoding="utf-8").splitlines()]
    return [Question(**{**row, "supporting_ids": tuple(row["supporting_ids"])}) for row in rows]


def final_answer(text: str) -> str:
    """What stands after "the answer is" in an answer; empty where it never comes to that."""
    found = re.search(r"answer is:?\s*(.*?)\.?\s*$", text, re.DOTALL)
    return found.group(1) if found else ""


def is_right(text: str, question: Question) -> bool:
    """Exact match of the final answer, but for case and blanks."""
    return _plain(final_answer(text)) == _plain(question.answer)


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())
