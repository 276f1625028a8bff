"""Presets: a task of the paper with its settings (tables 7 and 9) and its exemplars, by name.

The exemplars are this program's own; the paper's would have to be copied out of it. docs/prompts.md lists them all.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from flare_local.retrieval.excluded import TABLE_8
from flare_local.tasks.exemplars import Exemplars
from flare_local.tasks.files import own_exemplars

ANSWER_IS = "answer is"  # the last sentence of an exemplar; local models run on after it, the paper's did not


@dataclass(frozen=True)
class Preset:
    """One task."""

    name: str  # also of its file of exemplars
    line: str  # what it is for, for people
    source: str  # where its numbers are from
    options: Mapping[str, object]  # name of an option -> the task's value
    end_after: str | None = None  # where the paper's schedule ends an answer; the released program has no such rule

    @property
    def exemplars(self) -> Exemplars:
        """What stands in front of the task's questions."""
        return own_exemplars(self.name)

    def settings(self, schedule: str) -> dict[str, object]:
        """Name of an option -> its value, under `schedule`."""
        end = {"end_after": self.end_after} if self.end_after is not None and schedule == "paper" else {}
        return {**self.options, **end}


_TABLES = "paper, tables 7 and 9; most tokens as in the released program"
_CONFIDENCE = {"theta": 0.8, "beta": 0.4}
_IMPLICIT = {"query": "implicit", "combine": False}
_EXPLICIT = {"query": "explicit", "combine": True}

PRESETS = {
    preset.name: preset
    for preset in (
        Preset(
            "2wiki",
            "Multihop questions, as in 2WikiMultihopQA; a short answer after the steps to it.",
            _TABLES,
            {**_CONFIDENCE, **_IMPLICIT, "top_k": 2, "exemplar_documents": True, "max_new_tokens": 256},
            end_after=ANSWER_IS,
        ),
        Preset(
            "strategyqa",
            "Yes-or-no questions that take common sense, as in StrategyQA.",
            _TABLES,
            {"theta": 0.4, "beta": 0.4, **_IMPLICIT, "top_k": 3, "exemplar_documents": False, "max_new_tokens": 256},
            end_after=ANSWER_IS,
        ),
        Preset(
            "asqa",
            "Ambiguous questions, as in ASQA; all their readings are answered.",
            _TABLES,
            {**_CONFIDENCE, **_EXPLICIT, "top_k": 3, "exemplar_documents": False, "max_new_tokens": 256},
        ),
        Preset(
            "asqa-hint",
            "The same with a hint at what is ambiguous: Who ...? Hint: This question is ambiguous in terms of ...",
            _TABLES,
            {**_CONFIDENCE, **_EXPLICIT, "top_k": 3, "exemplar_documents": False, "max_new_tokens": 256},
        ),
        Preset(
            "wikiasp",
            "Summaries by aspects, as in WikiAsp: Generate a summary about X including the following aspects: a, b.",
            _TABLES,
            {
                **_CONFIDENCE,
                **_EXPLICIT,
                "top_k": 5,
                "exemplar_documents": False,
                "max_new_tokens": 512,
                "exclude_domains": TABLE_8,
            },
        ),
        Preset(
            "open",
            "Any question; an answer of a few sentences.",
            "of this program, not of the paper",
            {**_CONFIDENCE, **_IMPLICIT, "top_k": 3, "exemplar_documents": False, "max_new_tokens": 256},
        ),
    )
}
