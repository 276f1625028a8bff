"""FLARE instruct (paper section 3.1): the model writes `[Search(query)]` where it wants to look something up."""

from flare_local.engine.call import LanguageModel, StopReason, Tokens, Whole
from flare_local.policies.answering import Answering, Observer
from flare_local.policies.rules import Brackets, Rules
from flare_local.retrieval.document import Retriever
from flare_local.tasks.exemplars import Exemplars
from flare_local.tasks.search_skill import SEARCH_BEGIN, SEARCH_END, with_search_skill
from flare_local.trace.events import Answer, Writing

BANNED_TOKENS = 5  # released program: so many tokens without a bracket follow a search


async def flare_instruct(
    lm: LanguageModel,
    retriever: Retriever | None,
    question: str,
    exemplars: Exemplars,
    rules: Rules,
    observe: Observer | None = None,
) -> Answer:
    """Answer `question`. `observe` sees the question's search and then each piece as it is done.

    Brackets are made more probable, and forbidden for some tokens after a search (paper, appendix A). A search call is
    taken out of the answer; its documents stay until the next.
    """
    skilled = search_words(exemplars)
    run = Answering("flare_instruct", lm, retriever, question, skilled, rules, observe, beside=rules.look_ahead)
    brackets = bracket_ids(lm, rules)
    boost = dict.fromkeys(brackets, rules.search_bias)
    documents = await run.first_documents()
    query: str | None = None  # of the call just written
    while run.ended is None:
        if query is not None:
            search = await run.search(query) if query else None
            documents = documents if search is None else search.documents
            tokens = min(BANNED_TOKENS, run.left) if rules.schedule.ban_counts else BANNED_TOKENS
            piece = await run.write(documents, tokens, until=Tokens(BANNED_TOKENS), banned=frozenset(brackets))
            run.keep(piece, triggered=True, search=search, counts=rules.schedule.ban_counts)
            query = None
            continue
        tokens = rules.whole_tokens(run.left)
        piece = await run.write(documents, tokens, until=rules.sentence, marks=(SEARCH_BEGIN,), logit_bias=boost)
        if piece.generation.stop is not StopReason.MARK:
            run.keep(piece)
            continue
        call = None
        if call_end(piece.text) is None:
            call = await run.write(
                documents, rules.look_ahead, until=Whole(), after=piece.tokens, marks=(SEARCH_END,), logit_bias=boost
            )
        run.keep(piece, call=call, kept=tokens_before_call(piece))
        query = searched_for(piece.text + (call.text if call is not None else ""), call)
    return run.answer()


def search_words(exemplars: Exemplars) -> Exemplars:
    """The task's exemplars with the skill to search in front; those that have a skill in front stay as they are."""
    return exemplars if exemplars.before is not None else with_search_skill(exemplars)


def bracket_ids(lm: LanguageModel, rules: Rules) -> tuple[int, ...]:
    """Tokens that begin with a bracket: all of them, or the one that the released program names."""
    every = lm.codec.ids_beginning("[")
    if (rules.brackets or rules.schedule.brackets) is Brackets.ALL:
        return every
    texts = {lm.codec.decode((token,)): token for token in reversed(every)}  # the lowest id of each text stays
    return tuple(texts[text] for text in (" [", "[") if text in texts)[:1]


def call_end(text: str) -> int | None:
    """Where the first search call of `text` is closed, in characters; None where it is open."""
    _, begin, rest = text.partition(SEARCH_BEGIN)
    at = rest.find(SEARCH_END)
    return None if not begin or at < 0 else len(text) - len(rest) + at


def searched_for(text: str, call: Writing | None) -> str:
    """The query of the search call in `text`; empty where it has none, or was not closed."""
    end = call_end(text)
    if end is None or (call is not None and call.generation.stop is not StopReason.MARK):
        return ""
    return text[text.index(SEARCH_BEGIN) + len(SEARCH_BEGIN) : end].strip()


def tokens_before_call(piece: Writing) -> int:
    """How many of the piece's tokens stay: those that end before the call and the blanks in front of it."""
    before = len(piece.text[: piece.text.index(SEARCH_BEGIN)].rstrip())
    kept = end = 0
    for piece_text in piece.generation.pieces:
        end += len(piece_text)
        if end > before:
            break
        kept += 1
    return kept
