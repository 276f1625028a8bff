"""Single-time retrieval (paper section 2.2): one search with the question, then the whole answer."""

from flare_local.engine.call import LanguageModel
from flare_local.policies.answering import Answering, Observer
from flare_local.policies.rules import Rules
from flare_local.retrieval.document import Retriever
from flare_local.tasks.exemplars import Exemplars
from flare_local.trace.events import Answer


async def single_time(
    lm: LanguageModel,
    retriever: Retriever | None,
    question: str,
    exemplars: Exemplars,
    rules: Rules,
    observe: Observer | None = None,
) -> Answer:
    """Answer `question` sentence by sentence. `observe` sees the search and then each step as it is done."""
    run = Answering("single_time", lm, retriever, question, exemplars, rules, observe)
    documents = await run.search_question()
    while run.ended is None:
        run.keep(await run.write(documents, tokens=min(rules.look_ahead, run.left)))
    return run.answer()
