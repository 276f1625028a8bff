"""The options of `eval` and `reproduce` that name what judges answers."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from flare_local.metrics.judges import Judges

QaModel = Annotated[
    Path | None,
    typer.Option("--qa-model", metavar="FOLDER", help="QA model that ASQA's D-F1 reads answers with."),
]
UniEvalModel = Annotated[
    Path | None, typer.Option("--unieval-model", metavar="FOLDER", help="UniEval model of WikiAsp's consistency.")
]
SpacyModel = Annotated[
    str | None, typer.Option("--spacy-model", metavar="NAME", help="spaCy model of WikiAsp's entities.")
]


@dataclass(frozen=True)
class JudgeOptions:
    """What was named."""

    qa_model: Path | None
    unieval_model: Path | None
    spacy_model: str | None

    def open(self, task: str) -> "Judges":
        """What judges the task's answers. Raises `FlareError` where something that was named cannot be opened."""
        from flare_local.metrics.judges import open_judges

        return open_judges(task, qa_model=self.qa_model, unieval_model=self.unieval_model, spacy_model=self.spacy_model)
