"""Looking ahead one unit (paper section 3.2): draft it, and where a search is wanted, search and write it again."""

from collections.abc import Awaitable, Callable

from flare_local.policies.ahead import Ahead
from flare_local.policies.answering import Answering
from flare_local.policies.query import Query
from flare_local.policies.trigger import triggers
from flare_local.trace.events import Answer, Writing

Formulate = Callable[[Answering, Writing], Awaitable[Query]]  # an unsure draft -> what to search


async def answer_looking_ahead(run: Answering, formulate: Formulate) -> Answer:
    """Drafts, and searches with what `formulate` makes of the drafts that trigger."""
    rules, schedule = run.rules, run.rules.schedule
    documents = await run.first_documents()
    while run.ended is None:
        ahead = Ahead(run)
        draft = await ahead.draft(documents, tokens=rules.draft_tokens(run.left))
        triggered = triggers(draft.generation, rules, first=run.first)
        query = await formulate(run, draft) if triggered else Query()
        search = await run.search(*query.texts) if query.texts else None
        foresight = ahead.foresight(search)
        if search is not None:
            documents = search.documents
        if triggered or not schedule.accepts_confident:
            sentence = await run.write(documents, tokens=rules.sentence_tokens(run.left), speculate=draft.tokens)
        else:
            sentence = draft
        await ahead.settle()
        run.keep(sentence, draft=draft, triggered=triggered, search=search, asked=query.asked, foresight=foresight)
        if not schedule.documents_persist:
            documents = ()
    return run.answer()
