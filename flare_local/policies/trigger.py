"""When to retrieve: the draft holds an improbable token (paper section 3.2.1)."""

from flare_local.engine.call import Generation
from flare_local.policies.rules import FirstSentence, Rules


def triggers(draft: Generation, rules: Rules, first: bool) -> bool:
    """Whether `draft` asks for documents. `first`: it is the first draft of the answer."""
    schedule = rules.schedule
    if first and rules.first_sentence is FirstSentence.ACCEPT:
        return False
    if not schedule.blank_triggers and not draft.text.strip():
        return False
    if rules.theta == schedule.always_theta:
        return True
    judged = draft.probabilities
    if schedule.eos_counts and draft.eos_probability is not None:
        judged += (draft.eos_probability,)
    return any(improbable(p, rules) for p in judged)


def improbable(probability: float, rules: Rules) -> bool:
    """Whether a token of this probability triggers retrieval."""
    if rules.schedule.trigger_at_theta:
        return probability <= rules.theta
    return probability < rules.theta
