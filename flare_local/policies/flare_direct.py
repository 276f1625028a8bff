"""FLARE direct (paper section 3.2): look one sentence ahead, and where it is unsure, retrieve and write it again."""

from flare_local.engine.call import LanguageModel
from flare_local.policies.answering import Answering, Documents, Observer
from flare_local.policies.query import masked_query
from flare_local.policies.rules import Rules
from flare_local.policies.trigger import triggers
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
) -> Answer:
    """Answer `question`. `observe` sees the question's search and then each step as it is done."""
    run = Answering("flare_direct", lm, retriever, question, exemplars, rules, observe)
    schedule = rules.schedule
    documents: Documents = await run.search_question() if rules.initial_retrieval else ()
    while run.ended is None:
        draft = await run.write(documents, tokens=rules.draft_tokens(run.left))
        triggered = triggers(draft.generation, rules, first=run.first)
        query = masked_query(draft.generation, rules) if triggered else ""
        search = await run.search(query) if query else None
        if search is not None:
            documents = search.documents
        if triggered or not schedule.accepts_confident:
            sentence = await run.write(documents, tokens=rules.sentence_tokens(run.left), speculate=draft.tokens)
        else:
            sentence = draft
        run.keep(sentence, draft, triggered, search)
        if not schedule.documents_persist:
            documents = ()
    return run.answer()
