"""No retrieval: the model answers from what it knows."""

from flare_local.engine.call import LanguageModel
from flare_local.policies.answering import Answering, Observer
from flare_local.policies.rules import Rules
from flare_local.retrieval.document import Retriever
from flare_local.tasks.exemplars import Exemplars
from flare_local.trace.events import Answer


async def no_retrieval(
    lm: LanguageModel,
    retriever: Retriever | None,
    question: str,
    exemplars: Exemplars,
    rules: Rules,
    observe: Observer | None = None,
) -> Answer:
    """Answer `question` sentence by sentence; `retriever` is not used. `observe` sees each step as it is done."""
    run = Answering("no_retrieval", lm, retriever, question, exemplars, rules, observe)
    while run.ended is None:
        run.keep(await run.write((), tokens=min(rules.look_ahead, run.left)))
    return run.answer()
