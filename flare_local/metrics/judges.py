"""What judges answers beside rules: models and packages that a user may not have."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from flare_local.errors import FlareError
from flare_local.metrics.consistency import Consistency
from flare_local.metrics.entities import Entities
from flare_local.metrics.qa_model import QaModel
from flare_local.metrics.rouge import Rouge

Opened = TypeVar("Opened")
NO_QA = "needs a QA model: RoBERTa-large trained on SQuAD 2.0, as a folder (--qa-model)."
NO_UNIEVAL = "needs a UniEval model: unieval-fact, as a folder (--unieval-model)."


@dataclass(frozen=True)
class Judges:
    """Those that are there; `why` has, for each value that cannot be had, the reason."""

    rouge: Rouge | None = None
    qa: QaModel | None = None
    entities: Entities | None = None
    consistency: Consistency | None = None
    why: Mapping[str, str] = field(default_factory=dict)


def open_judges(
    task: str,
    *,
    qa_model: Path | None = None,
    unieval_model: Path | None = None,
    spacy_model: str | None = None,
) -> Judges:
    """Opens what the task needs. What was not named and is not installed is left out, with the reason.

    Raises `ModelError` or `UsageError` where something that was named cannot be opened.
    """
    why: dict[str, str] = {}

    def attempt(values: tuple[str, ...], open: Callable[[], Opened]) -> Opened | None:
        try:
            return open()
        except FlareError as error:
            why.update(dict.fromkeys(values, str(error)))
            return None

    if task in ("asqa", "asqa-hint"):
        if qa_model is None:
            why["disambig_f1"] = NO_QA
        qa = None if qa_model is None else QaModel.load(qa_model)
        return Judges(attempt(("rouge_l",), Rouge), qa, why=why)
    if task == "wikiasp":
        if unieval_model is None:
            why["unieval"] = NO_UNIEVAL
        consistency = None if unieval_model is None else Consistency.load(unieval_model)
        values = ("entity_f1", "entity_precision", "entity_recall")
        entities = attempt(values, Entities.load) if spacy_model is None else Entities.load(spacy_model)
        return Judges(attempt(("rouge_l",), Rouge), None, entities, consistency, why)
    return Judges()
