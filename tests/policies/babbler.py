"""A language model of dice: what it says depends on the prompt alone, and every odd thing is common.

Probabilities of exactly theta and beta, blank drafts, empty outputs, EOS and stops in drafts, sentences without end.
It serves the product's policies and the reference program alike, so that thousands of answers can be compared.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flare_local.engine.call import STOP_STRINGS, Generation, Sampling, StopReason, Until
from flare_local.engine.counters import Counters
from flare_local.policies.rules import GREEDY
from tests.oracle.naive import Output

FIRST_PIECE = 0x110000  # above every code point; a prompt character's id is its code point
PIECES = (
    " Ada",
    " Borg",
    " was",
    " born",
    " in",
    " 18",
    "15",
    ".",
    " The",
    " answer",
    " is",
    " ",
    "\n",
    "x",
    " harbour",
)
PROBABILITIES = (0.0, 0.05, 0.39, 0.4, 0.41, 0.6, 0.79, 0.8, 0.81, 0.95, 0.999, 1.0)


@dataclass
class Babbler:
    """A `LanguageModel` for the policies."""

    seed: int
    bos: tuple[int, ...] = (7,)
    tail: tuple[int, ...] = ()
    context_length: int = 1 << 20

    def encode(self, text: str) -> tuple[int, ...]:
        return tuple(map(ord, text))

    def decode(self, ids: tuple[int, ...]) -> str:
        return self.text(ids)

    def ids_beginning(self, text: str) -> tuple[int, ...]:
        return (ord(text[0]), *(FIRST_PIECE + i for i, piece in enumerate(PIECES) if piece.lstrip().startswith(text)))

    def text(self, ids: Sequence[int]) -> str:
        return "".join(PIECES[i - FIRST_PIECE] if i >= FIRST_PIECE else chr(i) for i in ids)

    def last_tokens(self, text: str, count: int) -> str:
        return text if len(text) <= count else text[-count:].strip()

    def say(self, prompt: Sequence[int], limit: int) -> Generation:
        """The same for the same prompt and limit."""
        dice = random.Random(f"{self.seed} {limit} {list(prompt)}")
        kind = dice.choice(["sure", "unsure", "unsure", "mixed", "masked"])
        choices = {"sure": (0.95, 0.999, 1.0), "unsure": PROBABILITIES[3:], "masked": (0.05, 0.1, 0.39, 0.4)}
        count = min(limit, dice.choice([0, 1, 1, 2, 3, 5, 8]))
        at = [dice.randrange(len(PIECES)) if dice.random() < 0.9 else PIECES.index("\n") for _ in range(count)]
        if dice.random() < 0.1:
            at = [PIECES.index(" ")] * count
        probabilities = tuple(dice.choice(choices.get(kind, PROBABILITIES)) for _ in range(count))
        stop = dice.choice(["boundary"] * 6 + ["eos", "stop"]) if count else dice.choice(["eos", "stop"])
        if count == limit and stop == "boundary":
            stop = "length"
        eos = dice.choice(PROBABILITIES) if stop == "eos" else None
        pieces = tuple(PIECES[i] for i in at)
        ids = tuple(FIRST_PIECE + i for i in at)
        return Generation(ids, probabilities, pieces, "".join(pieces), StopReason(stop), eos, Counters(calls=1))

    async def generate(
        self,
        prompt: tuple[int, ...],
        *,
        until: Until,
        max_new_tokens: int,
        stop: tuple[str, ...] = STOP_STRINGS,
        marks: tuple[str, ...] = (),
        speculate: tuple[int, ...] = (),
        logit_bias: Mapping[int, float] | None = None,
        banned: frozenset[int] = frozenset(),
        sampling: Sampling = GREEDY,
    ) -> Generation:
        return self.say(prompt, max_new_tokens)


class Reference:
    """The same dice as the reference program asks for them."""

    def __init__(self, babbler: Babbler) -> None:
        self.bos = list(babbler.bos)
        self.encode = babbler.encode
        self.text_of = babbler
        self._babbler = babbler

    def generate(self, prompt: Sequence[int], unit: Any, limit: int, stops: Any, **_: Any) -> Output:
        said = self._babbler.say(prompt, limit)
        return Output(
            said.tokens,
            said.probabilities,
            said.pieces,
            said.text,
            said.stop.value,
            said.eos_probability,
            generated=said.tokens,
        )
