"""ASQA as it was released: one JSON object, split -> id -> question with its readings and long answers."""

from flare_local.datasets.fields import Fields, unique
from flare_local.datasets.item import Item
from flare_local.datasets.simple import readings


def is_asqa(fields: Fields) -> bool:
    """Whether a row is one of the released file."""
    return "ambiguous_question" in fields


def asqa_item(fields: Fields, line: int, id: str | None) -> Item:
    """A question of ASQA.json; `id` is the key it stands under. Raises `UsageError`."""
    annotations = fields.objects("annotations") if "annotations" in fields else []
    pages = [knowledge for each in annotations if "knowledge" in each for knowledge in each.objects("knowledge")]
    pages += fields.objects("qa_pairs")
    return Item(
        id=id or fields.id("sample_id"),
        question=fields.text("ambiguous_question"),
        line=line,
        supporting_titles=unique(page.text("wikipage") for page in pages if page.text_or("wikipage")),
        readings=readings(fields),
        long_answers=unique(each.text("long_answer") for each in annotations if each.text_or("long_answer")),
    )
