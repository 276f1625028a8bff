"""Every choice that the reference program knows, under the names of the rules."""

from dataclasses import dataclass

from tests.oracle.naive import LOOK_AHEAD, STOPS
from tests.oracle.prompt import Example
from tests.oracle.unit import SENTENCE, Unit


@dataclass(frozen=True)
class Options:
    """Defaults are the paper's."""

    method: str = "flare_direct"  # or single_time, no_retrieval
    schedule: str = "paper"  # or released
    theta: float = 0.8
    beta: float = 0.4
    top_k: int = 2
    look_ahead: int = LOOK_AHEAD
    max_new_tokens: int = 256
    unit: Unit = SENTENCE
    stops: tuple[str, ...] = STOPS
    initial_retrieval: bool = True
    first_sentence: str = "judge"  # or accept
    end_after: str | None = None
    max_sentences: int | None = None
    query_tokens: int | None = 64
    titles: bool = False
    instruction: str = ""
    examples: tuple[Example, ...] = ()
