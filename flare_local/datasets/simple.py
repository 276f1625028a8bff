"""Anyone's own questions: JSONL of `{id, question, answers, ...}`, for every task. docs/data.md lists the keys."""

from flare_local.datasets.fields import Fields, unique
from flare_local.datasets.item import Aspect, Item, Reading
from flare_local.runs.questions import given_id

TRUTH = {True: "yes", False: "no"}


def simple_item(fields: Fields, line: int) -> Item:
    """A row with the keys of `Item`. Raises `UsageError`; whether the task has what it needs is not looked at."""
    id = given_id(dict(fields.value), fields.place)
    return Item(
        id=f"line-{line}" if id is None else id,
        question=fields.text("question"),
        line=line,
        answers=_answers(fields),
        supporting_ids=fields.texts_or_none("supporting_ids"),
        supporting_titles=fields.texts_or_none("supporting_titles"),
        readings=readings(fields) if "qa_pairs" in fields else (),
        long_answers=fields.texts_or_none("long_answers"),
        aspects=_aspects(fields) if "aspects" in fields else (),
        hint=fields.text_or("hint"),
        answer_id=fields.text_or("answer_id"),
    )


def readings(fields: Fields) -> tuple[Reading, ...]:
    """The readings of an ambiguous question, under ASQA's names."""
    return tuple(Reading(pair.text("question"), pair.texts("short_answers")) for pair in fields.objects("qa_pairs"))


def _answers(fields: Fields) -> tuple[str, ...]:
    name = "answers" if "answers" in fields else "answer"
    truth = fields.value.get(name)
    if isinstance(truth, bool):
        return (TRUTH[truth],)
    return unique(fields.texts(name)) if name in fields else ()


def _aspects(fields: Fields) -> tuple[Aspect, ...]:
    return tuple(Aspect(aspect.text("name"), aspect.text("text")) for aspect in fields.objects("aspects"))
