"""StrategyQA as it was released (a JSON array with evidence), and as BIG-bench's task.json."""

from collections.abc import Iterator

from flare_local.datasets.fields import Fields, unique
from flare_local.datasets.item import Item
from flare_local.datasets.simple import TRUTH

EXAMPLES = "examples"  # the key of task.json
NO_PARAGRAPH = ("operation", "no_evidence")  # what annotators wrote where a step needs no paragraph


def is_strategyqa(fields: Fields) -> bool:
    """Whether a row is one of the released file."""
    return "qid" in fields and isinstance(fields.value.get("answer"), bool)


def strategyqa_item(fields: Fields, line: int) -> Item:
    """A row of `strategyqa_train.json` or its parts. Raises `UsageError`.

    `evidence` is a list of annotators, of decomposition steps, of lists of paragraph ids: title, hyphen, number.
    """
    evidence = fields.values("evidence") if "evidence" in fields else []
    paragraphs = [text for text in _texts(evidence) if text not in NO_PARAGRAPH]
    return Item(
        id=fields.id("qid"),
        question=fields.text("question"),
        line=line,
        answers=(TRUTH[fields.value["answer"] is True],),
        supporting_ids=unique(paragraphs),
        supporting_titles=unique(paragraph.rpartition("-")[0] or paragraph for paragraph in paragraphs),
    )


def is_bigbench(fields: Fields) -> bool:
    """Whether a row is an example of BIG-bench."""
    return "target_scores" in fields


def bigbench_item(fields: Fields, line: int, number: int) -> Item:
    """An example of task.json, which has no ids: they are made of its number. Raises `UsageError`."""
    scores = Fields(fields.value["target_scores"], f"{fields.place}: target_scores").value
    right = [name.lower() for name, score in scores.items() if score == 1]
    if len(right) != 1:
        raise fields.fault("target_scores does not say which answer is right.")
    return Item(id=f"bigbench-{number}", question=fields.text("input"), line=line, answers=(right[0],))


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
