"""Looking back (paper section 4): after each unit, search with what is written already and go on with what is found."""

from collections.abc import Awaitable, Callable

from flare_local.policies.answering import Answering
from flare_local.policies.found import Documents
from flare_local.trace.events import Answer, Search, Writing

Write = Callable[[Documents], Awaitable[Writing]]
SearchBack = Callable[[Writing], Awaitable[Search | None]]  # what was written last -> None where that is blank


async def answer_looking_back(run: Answering, write: Write, search_back: SearchBack) -> Answer:
    """`write` makes the next unit; `search_back` searches after each but the last."""
    documents = await run.first_documents()
    search: Search | None = None
    while run.ended is None:
        unit = await write(documents)
        run.keep(unit, triggered=not run.first, search=search)
        if run.ended is None:
            search = await search_back(unit)
            if search is not None:
                documents = search.documents
            elif not run.rules.schedule.documents_persist:
                documents = ()
    return run.answer()
