"""2WikiMultihopQA and HotpotQA as they were released: one JSON array, `supporting_facts` by title."""

from flare_local.datasets.fields import Fields, unique
from flare_local.datasets.item import Item


def is_multihop(fields: Fields) -> bool:
    """Whether a row is one of these files."""
    return "supporting_facts" in fields or "context" in fields


def multihop_item(fields: Fields, line: int) -> Item:
    """A row of `dev.json` (2WikiMultihopQA) or `hotpot_dev_distractor_v1.json`. Raises `UsageError`."""
    titles = [title for title, _ in fields.pairs("supporting_facts")] if "supporting_facts" in fields else []
    return Item(
        id=fields.id("_id"),
        question=fields.text("question"),
        line=line,
        answers=(fields.text("answer"),),
        supporting_titles=unique(titles),
        answer_id=fields.text_or("answer_id"),
    )
