"""What to retrieve: the draft without its improbable tokens (paper section 3.2.2, implicit queries)."""

from flare_local.engine.call import Generation
from flare_local.policies.rules import FullyMasked, Rules


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
