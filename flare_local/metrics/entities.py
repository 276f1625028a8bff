"""Named entities that a summary shares with its reference, by a spaCy model (an optional extra)."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from flare_local.errors import UsageError
from flare_local.metrics.short_answer import Overlap
from flare_local.metrics.words import normal

DEFAULT_MODEL = "en_core_web_sm"  # released program
FindEntities = Callable[[str], list[str]]


@dataclass(frozen=True)
class Entities:
    """Finds entities and compares them."""

    find: FindEntities  # texts of the entities of a text

    @classmethod
    def load(cls, model: str = DEFAULT_MODEL) -> "Entities":
        """`model`: name of an installed spaCy model, or a folder. Raises `UsageError` where there is none."""
        try:
            import spacy
        except ImportError:
            raise UsageError("spaCy is not installed.", f"pip install spacy, and a model such as {model}.") from None
        try:
            loaded = spacy.load(model)
        except (OSError, ValueError, ImportError) as error:
            what = " ".join(str(error).split())[:200]
            raise UsageError(
                f"The spaCy model {model} cannot be loaded: {what}", "Install it, or name another."
            ) from None
        return cls(lambda text: [entity.text for entity in loaded(text).ents])

    def overlap(self, predicted: str, reference: str) -> Overlap:
        """Entities shared, counted as often as both have them; a side without any has all of them right."""
        left = Counter(normal(text) for text in self.find(predicted))
        right = Counter(normal(text) for text in self.find(reference))
        shared = (left & right).total()
        precision = shared / left.total() if left else 1.0
        recall = shared / right.total() if right else 1.0
        return Overlap(2 * precision * recall / ((precision + recall) or 1.0), precision, recall)
