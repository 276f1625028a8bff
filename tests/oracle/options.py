"""Every choice that the reference program knows, under the names of the rules."""

from dataclasses import dataclass

from tests.oracle.naive import LOOK_AHEAD, STOPS
from tests.oracle.prompt import CASE, Example, Shots
from tests.oracle.unit import SENTENCE, Unit

NO_SHOTS = Shots()


@dataclass(frozen=True)
class Options:
    """Defaults are the paper's."""

    method: str = "flare_direct"  # or any other of `policy.METHODS`
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
    query: str = "implicit"  # or explicit
    combine: bool = False
    window: int = 16
    window_query: int | None = 16  # None: all tokens
    brackets: str = "schedule"  # or all, one
    search_bias: float = 2.0
    context: int | None = None  # tokens of prompt and answer together; None: no end to it
    asker_context: int | None = None  # the same of another model that writes the questions of explicit queries
    may_cut: bool = True  # a prompt that is too long loses documents and examples; else it is refused
    case: str = CASE  # how the question is put, and the examples' where nothing else is said
    example_case: str | None = None
    closing: str = ""  # text behind the examples
    before: Shots | None = None  # another skill, shown first
    asking: Shots = NO_SHOTS  # how a question is asked for: {question} is the passage, {hint} the phrase
    term: Shots = NO_SHOTS  # how a term is asked for: {question} is the sentence

    @property
    def shots(self) -> Shots:
        """Everything before the test case."""
        example_case = self.case if self.example_case is None else self.example_case
        return Shots(self.examples, self.instruction, self.case, example_case, self.closing, self.before)
