"""Self-ask: exemplars that ask and answer follow-up questions before the final answer (paper, prompt 3)."""

from flare_local.tasks.exemplars import Exemplars
from flare_local.tasks.files import own_exemplars

FOLLOW_UP = "Follow up:"  # what stands behind it is searched
INTERMEDIATE_ANSWER = "Intermediate answer:"  # a generation stops here; the model writes the answer itself


def self_ask(exemplars: Exemplars) -> Exemplars:
    """`exemplars` where they are of this kind, else those of this program, about the questions of `2wiki`."""
    if any(FOLLOW_UP in exemplar.answer for exemplar in exemplars.examples):
        return exemplars
    return own_exemplars("self_ask")
