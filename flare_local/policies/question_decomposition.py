"""Question decomposition (paper section 4, self-ask): the model writes follow-up questions, and each is searched."""

from flare_local.engine.call import LanguageModel, StopReason
from flare_local.policies.answering import Answering, Observer
from flare_local.policies.rules import Rules
from flare_local.retrieval.document import Retriever
from flare_local.tasks.exemplars import Exemplars
from flare_local.tasks.self_ask import FOLLOW_UP, INTERMEDIATE_ANSWER, self_ask
from flare_local.trace.events import Answer, Search


async def question_decomposition(
    lm: LanguageModel,
    retriever: Retriever | None,
    question: str,
    exemplars: Exemplars,
    rules: Rules,
    observe: Observer | None = None,
) -> Answer:
    """Answer `question` after exemplars that ask themselves; `self_ask` has some where `exemplars` are of another kind.

    `observe` sees the question's search and then each sentence as it is done. Questions and answers stay in the answer;
    documents stay until the next question.
    """
    run = Answering("question_decomposition", lm, retriever, question, self_ask(exemplars), rules, observe)
    documents = await run.first_documents(rules.schedule.decomposition_searches_question)
    segment = ""  # what is written since the last follow-up question
    asked, search = False, None
    while run.ended is None:
        tokens = rules.whole_tokens(run.left)
        piece = await run.write(documents, tokens, until=rules.sentence, marks=(INTERMEDIATE_ANSWER,))
        run.keep(piece, triggered=asked, search=search)
        segment += piece.text
        asked, search = piece.generation.stop is StopReason.MARK and run.ended is None, None
        if asked:
            search = await _search(run, follow_up(segment))
            documents = documents if search is None else search.documents
            segment = ""
    return run.answer()


def follow_up(segment: str) -> str:
    """The follow-up question of a text that ends with the request for its answer; empty where there is none."""
    before, _, _ = segment.rpartition(INTERMEDIATE_ANSWER)
    _, mark, question = before.rpartition(FOLLOW_UP)
    return question.strip() if mark else ""


async def _search(run: Answering, question: str) -> Search | None:
    return await run.search(question) if question else None
