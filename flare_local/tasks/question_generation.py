"""What a language model is asked so that it writes the question of a query (paper section 3.2.2, explicit queries).

Both prompts are exemplars like those of a task, and a prompt is made of them in the same way: E, then x.
"""

from flare_local.tasks.exemplars import Exemplars, put
from flare_local.tasks.files import own_exemplars

QUESTION_TOKENS = 64  # a question's most tokens; it ends at a line break


def question_exemplars() -> Exemplars:
    """Examples of a question for a phrase of a passage."""
    return own_exemplars("question_generation")


def question_case(passage: str, phrase: str) -> str:
    """x: asks for a question whose answer is `phrase`. Passage first: all phrases of a sentence share it."""
    return put(question_exemplars().case, _one_line(passage), _one_line(phrase))


def term_exemplars() -> Exemplars:
    """Examples of a whole term that begins at a star (released program)."""
    return own_exemplars("term_extraction")


def term_case(before: str, after: str) -> str:
    """x: asks for the whole term that begins between `before` and `after`, which together are the sentence."""
    blanks = after[: len(after) - len(after.lstrip())]
    return put(term_exemplars().case, _one_line(f"{before}{blanks}*{after.lstrip()}"))


def _one_line(text: str) -> str:
    return " ".join(text.split())
