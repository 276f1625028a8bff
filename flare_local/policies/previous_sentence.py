"""Previous sentence (paper section 4, the class of IRCoT): a search after every sentence, with that sentence."""

from flare_local.engine.call import LanguageModel
from flare_local.policies.answering import Answering, Observer
from flare_local.policies.found import Documents
from flare_local.policies.look_back import answer_looking_back
from flare_local.policies.rules import Rules
from flare_local.retrieval.document import Retriever
from flare_local.tasks.exemplars import Exemplars
from flare_local.trace.events import Answer, Search, Writing


async def previous_sentence(
    lm: LanguageModel,
    retriever: Retriever | None,
    question: str,
    exemplars: Exemplars,
    rules: Rules,
    observe: Observer | None = None,
) -> Answer:
    """Answer `question`. `observe` sees the question's search and then each sentence as it is done."""
    run = Answering("previous_sentence", lm, retriever, question, exemplars, rules, observe)

    async def write(documents: Documents) -> Writing:
        return await run.write(documents, tokens=rules.sentence_tokens(run.left))

    async def search_back(written: Writing) -> Search | None:
        query = written.text.strip()
        return await run.search(query) if query else None

    return await answer_looking_back(run, write, search_back)
