"""What travels between a policy and the engine: one `Call` in, one `Generation` out."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol, runtime_checkable

from flare_local.engine.counters import Counters

LOOK_AHEAD = 64  # tokens; paper, appendix A ("we generate 64 tokens")
STOP_STRINGS = ("\n\n",)  # the released program's only stop string


class StopReason(StrEnum):
    """Why a generation ended."""

    BOUNDARY = "boundary"  # the unit (a sentence, say) is complete and text was cut off after it
    EOS = "eos"  # the model ended its answer
    STOP = "stop"  # a stop string appeared
    MARK = "mark"  # a mark appeared; it is part of the output
    LENGTH = "length"  # max_new_tokens were generated


@dataclass(frozen=True)
class Sentence:
    """Stop after the first Punkt sentence whose end lies at least `min_chars` characters into the text.

    Source: released program (untrained Punkt, 5 characters); paper appendix A (NLTK sentence tokenizer).
    """

    min_chars: int = 5
    trained: bool = False  # True: Punkt's English parameters instead of the untrained ones


@dataclass(frozen=True)
class Paragraph:
    """Stop at the first line break after a non-blank line."""


@dataclass(frozen=True)
class Tokens:
    """Stop after `count` tokens (paper section 3.2.1: any unit may be looked ahead)."""

    count: int


@dataclass(frozen=True)
class Whole:
    """No unit: go on to EOS, a stop string or the budget."""


Until = Sentence | Paragraph | Tokens | Whole


@dataclass(frozen=True)
class Sampling:
    """How the next token is chosen. Temperature 0 is greedy, ties go to the lowest id."""

    temperature: float = 0.0
    top_p: float = 1.0
    seed: int = 0


GREEDY = Sampling()


Watch = Callable[[int, float], None]  # a token and its raw probability; runs on the engine's thread, must not raise


@dataclass(frozen=True)
class Call:
    """One request to the engine. Token ids only; the engine knows nothing of documents or questions."""

    prompt: tuple[int, ...]  # at least one id, BOS included where the model has one
    until: Until = Whole()
    max_new_tokens: int = LOOK_AHEAD
    stop: tuple[str, ...] = STOP_STRINGS
    marks: tuple[str, ...] = ()  # as stop strings, but kept: the output ends right behind the first that appears
    speculate: tuple[int, ...] = ()  # ids that may follow the prompt (a rejected draft); never changes the result
    logit_bias: Mapping[int, float] = field(default_factory=dict)  # added before the choice, not to probabilities
    banned: frozenset[int] = frozenset()  # ids that may not be chosen
    sampling: Sampling = GREEDY
    question: str = ""  # who asks: keys the random numbers of sampling
    index: int = 0  # number of this call within its question: keys them too
    watch: Watch | None = field(default=None, compare=False)  # told of each token at once
    ahead: bool = False  # a guess: fills the tree and is no call that the ledger knows


@dataclass(frozen=True)
class Generation:
    """The kept output of a call: everything up to the cut, EOS and stop string excluded."""

    tokens: tuple[int, ...]
    probabilities: tuple[float, ...]  # of each token: softmax of the unbiased logits at temperature 1
    pieces: tuple[str, ...]  # the text each token adds; joined they are the text of the tokens
    text: str  # as joined pieces, but cut before a stop string that begins inside the last token
    stop: StopReason
    eos_probability: float | None  # of EOS, where EOS directly follows the last kept token and was chosen
    counters: Counters


class Codec(Protocol):
    """A model's tokenizer as a policy sees it (`flare_local.engine.text.TextCodec`)."""

    def encode(self, text: str, /) -> tuple[int, ...]:
        """Ids of one prompt segment as data: special tokens written in the text stay plain text; no BOS."""
        ...

    def decode(self, ids: tuple[int, ...], /) -> str:
        """The text that `ids` add to a text in front of them."""
        ...

    def ids_beginning(self, text: str, /) -> tuple[int, ...]:
        """Ids of all tokens whose text begins with `text` (ASCII), after leading spaces or none; no control tokens."""
        ...

    def last_tokens(self, text: str, count: int) -> str:
        """The end of `text`, at most `count` of the model's tokens long (query truncation)."""
        ...


class LanguageModel(Protocol):
    """What a policy sees of a model: ids and one verb. One object serves one question (`Engine.question`)."""

    @property
    def codec(self) -> Codec:
        """What makes ids of text and text of ids."""
        ...

    @property
    def bos(self) -> tuple[int, ...]:
        """The ids that every prompt begins with: BOS, the head of a chat template, or nothing."""
        ...

    @property
    def tail(self) -> tuple[int, ...]:
        """The ids between question and answer: the rest of a chat template, or nothing."""
        ...

    @property
    def context_length(self) -> int:
        """Tokens of prompt and output together that the model can hold."""
        ...

    async def generate(self, call: Call) -> Generation:
        """Continue the call's prompt; `question` and `index` are the model's to fill in.

        Raises `PromptTooLong` or `PoolTooSmall` before any work.
        """
        ...


@runtime_checkable
class WatchedModel(LanguageModel, Protocol):
    """A model that tells of each token while it writes, and reads a prompt that may be wanted soon."""

    watch: Watch | None  # told of the tokens of every call that is made while it is set

    async def read_ahead(self, prompt: tuple[int, ...]) -> Counters:
        """Computes what `generate` would need of `prompt`; says what it cost. Changes no result."""
        ...
