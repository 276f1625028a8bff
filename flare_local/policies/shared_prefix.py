"""What the prompts of all questions begin with: the part that can be computed before any question is asked."""

from flare_local.engine.call import LanguageModel
from flare_local.policies.flare_direct import flare_direct
from flare_local.policies.methods import Method
from flare_local.policies.prompt import shared_head
from flare_local.policies.rules import QueryKind, Rules
from flare_local.tasks.exemplars import Exemplars
from flare_local.tasks.question_generation import question_exemplars, term_exemplars


def shared_prefixes(
    method: Method, lm: LanguageModel, exemplars: Exemplars, rules: Rules, *, writes_questions: bool = True
) -> tuple[tuple[int, ...], ...]:
    """Ids of the answer's shared beginning, where it has exemplars, then those of what is asked beside it.

    `writes_questions`: no other model writes the questions of explicit queries. Raises `PromptTooLong`.
    """
    heads = [shared_head(lm, exemplars, rules)]
    if writes_questions and method.answer is flare_direct and rules.query is QueryKind.EXPLICIT:
        heads.append(shared_head(lm, question_exemplars(), rules))
        if rules.schedule.asks_for_terms:
            heads.append(shared_head(lm, term_exemplars(), rules))
    return tuple(head for head in heads if head)
