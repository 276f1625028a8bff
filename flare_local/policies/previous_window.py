"""Previous window (paper section 4): a search every few tokens, with the last tokens written."""

from flare_local.engine.call import LanguageModel, Tokens
from flare_local.policies.answering import Answering, Observer
from flare_local.policies.found import Documents
from flare_local.policies.look_back import answer_looking_back
from flare_local.policies.rules import Rules
from flare_local.retrieval.document import Retriever
from flare_local.tasks.exemplars import Exemplars
from flare_local.trace.events import Answer, Search, Writing


async def previous_window(
    lm: LanguageModel,
    retriever: Retriever | None,
    question: str,
    exemplars: Exemplars,
    rules: Rules,
    observe: Observer | None = None,
) -> Answer:
    """Answer `question`. `observe` sees the question's search and then each window as it is done."""
    run = Answering("previous_window", lm, retriever, question, exemplars, rules, observe)

    async def write(documents: Documents) -> Writing:
        until = run.unit_or_rest(Tokens(rules.window))
        most = min(rules.window, run.left) if isinstance(until, Tokens) else rules.sentence_tokens(run.left)
        return await run.write(documents, tokens=max(rules.schedule.least_tokens, most), until=until)

    async def search_back(_: Writing) -> Search | None:
        behind = run.prompt.question + run.tokens if rules.schedule.window_counts_question else run.tokens
        query = lm.codec.decode(behind if rules.window_query is None else behind[-rules.window_query :]).strip()
        return await run.search_whole(query) if query else None

    return await answer_looking_back(run, write, search_back)
