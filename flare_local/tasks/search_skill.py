"""Two skills in one prompt: to write search calls, and to do the task (paper section 3.1, prompts 1 and 4).

Small models do not combine the two when they are told to. So two examples of both together follow the request, which
the paper's prompt does not have.
"""

from dataclasses import replace

from flare_local.tasks.exemplars import Exemplars, put
from flare_local.tasks.files import own_exemplars

SEARCH_BEGIN, SEARCH_END = "[Search(", ")]"  # what a model writes around a query
TASK = "Skill 2. Do the task step by step, as these examples do."
COMBINE = (
    "Now use both skills together: do the task step by step, and write [Search(words to look up)] wherever a fact is "
    "needed, as in these examples."
)
PLAIN, STEPS, BOTH = "Answer:", "Answer (with step-by-step):", "Answer (with step-by-step & Search):"


def with_search_skill(exemplars: Exemplars) -> Exemplars:
    """Skill 1 (its instruction and three examples), skill 2 (the task's), the request to combine them, both at once.

    Where the task puts questions with a line `Answer:`, that line says which skills are wanted.
    """
    task = f"{TASK} {exemplars.instruction}".strip()
    return replace(
        exemplars,
        instruction=task,
        case=exemplars.case.replace(PLAIN, BOTH),
        example_case=(exemplars.example_case or exemplars.case).replace(PLAIN, STEPS),
        before=own_exemplars("search"),
        closing="\n\n".join([COMBINE, *_combined()]),
    )


def _combined() -> list[str]:
    """Examples of both skills at once."""
    both = own_exemplars("search_combined")
    return [f"{put(both.case, example.question)} {example.answer}" for example in both.examples]
