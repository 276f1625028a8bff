"""FLARE direct (paper section 3.2): look one sentence ahead, and where it is unsure, retrieve and write it again."""

from flare_local.engine.call import LanguageModel
from flare_local.policies.answering import Answering, Observer
from flare_local.policies.explicit_query import explicit_query
from flare_local.policies.look_ahead import answer_looking_ahead
from flare_local.policies.query import implicit_query
from flare_local.policies.rules import QueryKind, Rules
from flare_local.retrieval.document import Retriever
from flare_local.tasks.exemplars import Exemplars
from flare_local.trace.events import Answer


async def flare_direct(
    lm: LanguageModel,
    retriever: Retriever | None,
    question: str,
    exemplars: Exemplars,
    rules: Rules,
    observe: Observer | None = None,
    asker: LanguageModel | None = None,
) -> Answer:
    """Answer `question`. `observe` sees the question's search and then each step as it is done.

    `asker`: another model that writes the questions of explicit queries; None: `lm` does.
    """
    run = Answering("flare_direct", lm, retriever, question, exemplars, rules, observe, asker=asker)
    formulate = explicit_query if rules.query is QueryKind.EXPLICIT else implicit_query
    return await answer_looking_ahead(run, formulate)
