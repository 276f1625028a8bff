"""Next sentence (paper section 6.2, table 3): search before every sentence, with the complete draft of it."""

from dataclasses import replace

from flare_local.engine.call import LanguageModel
from flare_local.policies.answering import Answering, Observer
from flare_local.policies.look_ahead import answer_looking_ahead
from flare_local.policies.query import whole_draft
from flare_local.policies.rules import Rules
from flare_local.retrieval.document import Retriever
from flare_local.tasks.exemplars import Exemplars
from flare_local.trace.events import Answer


async def next_sentence(
    lm: LanguageModel,
    retriever: Retriever | None,
    question: str,
    exemplars: Exemplars,
    rules: Rules,
    observe: Observer | None = None,
) -> Answer:
    """Answer `question`. `observe` sees the question's search and then each step as it is done."""
    always = replace(rules, theta=rules.schedule.always_theta)
    run = Answering("next_sentence", lm, retriever, question, exemplars, always, observe)
    return await answer_looking_ahead(run, whole_draft)
