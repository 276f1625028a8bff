"""What to retrieve: queries made of a draft that is unsure (paper section 3.2.2, implicit queries)."""

from dataclasses import dataclass

from flare_local.engine.call import Generation
from flare_local.policies.answering import Answering
from flare_local.policies.rules import FullyMasked, Rules
from flare_local.trace.events import Writing


@dataclass(frozen=True)
class Query:
    """What is searched because of a draft, and what the model was asked to find it."""

    texts: tuple[str, ...] = ()  # none: nothing is searched
    asked: tuple[Writing, ...] = ()


async def implicit_query(run: Answering, draft: Writing) -> Query:
    """The draft without its improbable tokens."""
    return one_query(masked_query(draft.generation, run.rules))


async def whole_draft(run: Answering, draft: Writing) -> Query:
    """The draft itself (paper, table 3)."""
    return one_query(draft.text.strip())


def one_query(text: str) -> Query:
    """`text`, if there is any."""
    return Query((text,) if text else ())


def masked_query(draft: Generation, rules: Rules) -> str:
    """The query of a draft that triggered; empty where nothing is to be searched."""
    kept = zip(draft.pieces, draft.probabilities, strict=True)
    query = "".join(" " if masked(p, rules) else piece for piece, p in kept).strip()
    if not query and rules.schedule.fully_masked is FullyMasked.SENTENCE:
        return draft.text.strip()
    return query


def masked(probability: float, rules: Rules) -> bool:
    """Whether a token of this probability is left out of the query."""
    if rules.schedule.keep_at_beta:
        return probability < rules.beta
    return probability <= rules.beta
