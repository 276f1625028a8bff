"""What a language model is asked so that it says what is ambiguous about a question (paper, ASQA-hint)."""

from functools import cache

from flare_local.tasks.exemplars import Exemplar, Exemplars, put
from flare_local.tasks.files import own_exemplars

HINT_TOKENS = 64  # a hint's most tokens; it ends at a line break
BEGINNING = "This question is ambiguous in terms of"  # of every hint (paper, section 5); the model goes on from here
CASE = f"Question: {{question}}\nHint: {BEGINNING}"
INSTRUCTION = "Say in one sentence in terms of what each question is ambiguous. Do not answer it."


@cache
def hint_exemplars() -> Exemplars:
    """The exemplars of the task `asqa-hint`, their hints as answers."""
    given = own_exemplars("asqa-hint").examples
    examples = tuple(Exemplar(each.question, each.hint.removeprefix(BEGINNING).strip()) for each in given)
    return Exemplars(examples, INSTRUCTION, CASE)


def hint_case(question: str) -> str:
    """x: the question, and how its hint begins."""
    return put(CASE, " ".join(question.split()))
