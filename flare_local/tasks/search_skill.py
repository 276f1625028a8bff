"""Two skills in one prompt: to write search calls, and to do the task (paper section 3.1, prompts 1 and 4)."""

from dataclasses import replace

from flare_local.tasks.exemplars import Exemplars
from flare_local.tasks.files import own_exemplars

SEARCH_BEGIN, SEARCH_END = "[Search(", ")]"  # what a model writes around a query
TASK = "Skill 2. Do the task step by step, as these examples do."
COMBINE = (
    "Now use both skills together: do the task step by step, and write [Search(words to look up)] wherever a fact is "
    "needed."
)
PLAIN, STEPS, BOTH = "Answer:", "Answer (with step-by-step):", "Answer (with step-by-step & Search):"


def with_search_skill(exemplars: Exemplars) -> Exemplars:
    """Skill 1 (its instruction and three examples), skill 2 (the task's), the request to combine them, the question.

    Where the task puts questions with a line `Answer:`, that line says which skills are wanted.
    """
    task = f"{TASK} {exemplars.instruction}".strip()
    return replace(
        exemplars,
        instruction=task,
        case=exemplars.case.replace(PLAIN, BOTH),
        example_case=(exemplars.example_case or exemplars.case).replace(PLAIN, STEPS),
        before=own_exemplars("search"),
        closing=COMBINE,
    )
