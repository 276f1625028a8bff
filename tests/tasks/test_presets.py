"""The presets are the paper's tables."""

from typing import get_args

import pytest

from flare_local.config import MethodOptions, RetrievalOptions
from flare_local.config import Preset as Names
from flare_local.option import options_of
from flare_local.policies.prompt import case_text, exemplars_text
from flare_local.policies.rules import Rules
from flare_local.tasks.presets import PRESETS, Preset

NUMBERS = {  # theta, beta (table 9), top-k, exemplars (table 7), most tokens (released program)
    "2wiki": (0.8, 0.4, 2, 8, 256),
    "strategyqa": (0.4, 0.4, 3, 6, 256),
    "asqa": (0.8, 0.4, 3, 8, 256),
    "asqa-hint": (0.8, 0.4, 3, 8, 256),
    "wikiasp": (0.8, 0.4, 5, 4, 512),
}
KINDS = {  # queries, single- and multi-time retrieval combined (table 9), documents for exemplars (table 7)
    "2wiki": ("implicit", False, True),
    "strategyqa": ("implicit", False, False),
    "asqa": ("explicit", True, False),
    "asqa-hint": ("explicit", True, False),
    "wikiasp": ("explicit", True, False),
}


def test_the_option_knows_every_preset() -> None:
    assert get_args(Names) == tuple(PRESETS)


@pytest.mark.parametrize("name", NUMBERS)
def test_the_settings_are_the_papers(name: str) -> None:
    preset = PRESETS[name]
    options = preset.settings("paper")
    numbers = (options["theta"], options["beta"], options["top_k"], preset.exemplars.count, options["max_new_tokens"])
    assert numbers == NUMBERS[name]
    assert (options["query"], options["combine"], options["exemplar_documents"]) == KINDS[name]


@pytest.mark.parametrize("preset", PRESETS.values(), ids=lambda preset: preset.name)
def test_every_setting_is_an_option_with_a_value_that_it_may_have(preset: Preset) -> None:
    options = {option.name: option for kind in (MethodOptions, RetrievalOptions) for option in options_of(kind)}
    for schedule in ("paper", "released"):
        for name, value in preset.settings(schedule).items():
            assert options[name].check(value, name) == value


def test_only_questions_with_a_short_answer_end_with_it_and_not_in_the_released_program() -> None:
    ends = {name: preset.settings("paper").get("end_after") for name, preset in PRESETS.items()}
    assert {name for name, end in ends.items() if end == "answer is"} == {"2wiki", "strategyqa"}
    assert not any("end_after" in preset.settings("released") for preset in PRESETS.values())


@pytest.mark.parametrize(
    ("name", "question", "end"),
    [
        ("2wiki", "Who?", "So the answer is yes.\n\nQuestion: Who?\nAnswer:"),
        ("strategyqa", "Is it?", "\nQuestion: Is it?\nAnswer:"),
        (
            "asqa-hint",
            "Who? Hint: h",
            "\n\nQuestion: Who?\nHint: h\nAnswer: In order to figure out its interpretations,",
        ),
        ("wikiasp", "Generate a summary about x.", "\n\nGenerate a summary about x."),
        ("open", "Why?", "\n\nQuestion: Why?\nAnswer:"),
    ],
)
def test_a_question_is_put_as_its_exemplars_are(name: str, question: str, end: str) -> None:
    exemplars = PRESETS[name].exemplars
    assert (exemplars_text(exemplars, Rules()) + case_text(exemplars, question)).endswith(end)
