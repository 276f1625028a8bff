"""A language model of dice: what it says depends on the prompt alone, and every odd thing is common.

Probabilities of exactly theta and beta, blank drafts, empty outputs, EOS and stops in drafts, sentences without end.
It serves the product's policies and the reference program alike, so that thousands of answers can be compared.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flare_local.engine.call import STOP_STRINGS, Call, Generation, StopReason
from flare_local.engine.counters import Counters
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
    " [",
    "Search(",
    ".[",
    "Search(Ada",
    "[Search()]",
    ")]",
    ")].",
    "\nFollow up:",
    "?",
    "\nIntermediate answer:",
    " answer: Ada",
    " Intermediate",
)
PLAIN = PIECES.index(" harbour") + 1  # pieces that any text may hold
MARKED = {  # what ends in a mark, and what does not quite
    "[Search(": [
        (" [", "Search("),
        (" ", "[Search()]"),
        (".[", "Search("),
        (" was", " [", "Search(Ada"),
        (" [", " was"),
    ],
    ")]": [(")]",), (" Ada", ")]"), (" born", " in", ")]."), ("\n", " Ada", ")]"), (" ", ")]")],
    "Intermediate answer:": [
        ("\nFollow up:", " Ada", "?", "\nIntermediate answer:"),
        ("\nFollow up:", " was", "\nFollow up:", " Borg", "?", " Intermediate", " answer: Ada"),
        ("\nIntermediate answer:",),
        ("\nFollow up:", " ", "\nIntermediate answer:"),
        ("\nFollow up:", " Ada", "?"),
    ],
}
REPLIES = (
    " Who was Ada?",
    " When was Borg born?",
    " Where?",
    " harbour",
    "",
    " Who was\nAda?",
    "?",
    "\nWho?",
    " Ada fell.",
)
PROBABILITIES = (0.0, 0.05, 0.39, 0.4, 0.41, 0.6, 0.79, 0.8, 0.81, 0.95, 0.999, 1.0)


@dataclass
class Babbler:
    """A `LanguageModel` for the policies."""

    seed: int
    bos: tuple[int, ...] = (7,)
    tail: tuple[int, ...] = ()
    context_length: int = 1 << 20

    @property
    def codec(self) -> "Babbler":
        return self

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

    def beginning(self, text: str) -> list[int]:
        return list(self.ids_beginning(text))

    def say(
        self,
        prompt: Sequence[int],
        limit: int,
        stop: tuple[str, ...] = STOP_STRINGS,
        marks: tuple[str, ...] = (),
        bias: Mapping[int, float] | None = None,
        banned: frozenset[int] = frozenset(),
    ) -> Generation:
        """The same for the same arguments."""
        dice = random.Random(
            f"{self.seed} {limit} {list(prompt)} {marks} {sorted((bias or {}).items())} {sorted(banned)}"
        )
        if stop == ("\n",):
            return self._reply(dice, self.text(prompt), limit)
        said = self._babble(dice, limit)
        if marks and dice.random() < 0.6:
            return _marked(said, dice.choice(MARKED[marks[0]]), marks[0], limit)
        return said

    def _reply(self, dice: random.Random, asked: str, limit: int) -> Generation:
        """A question, or the term that was asked for, letter by letter."""
        text = dice.choice(REPLIES)
        _, star, behind = asked.rpartition("*")
        if asked.endswith("Term:") and star and dice.random() < 0.7:
            words = behind.removesuffix("Term:").split()
            text = " " + " ".join(words[: dice.choice([1, 1, 2, 3])])
        text = text[:limit]
        ended = StopReason.EOS if text else StopReason.STOP
        ids = self.encode(text)
        return Generation(ids, (0.9,) * len(ids), tuple(text), text, ended, 0.9 if text else None, Counters(calls=1))

    def _babble(self, dice: random.Random, limit: int) -> Generation:
        kind = dice.choice(["sure", "unsure", "unsure", "mixed", "masked", "patchy"])
        choices = {
            "sure": (0.95, 0.999, 1.0),
            "unsure": PROBABILITIES[3:],
            "masked": (0.05, 0.1, 0.39, 0.4),
            "patchy": (0.05, 0.95),
        }
        count = min(limit, dice.choice([0, 1, 1, 2, 3, 5, 8]))
        at = [dice.randrange(PLAIN) if dice.random() < 0.9 else PIECES.index("\n") for _ in range(count)]
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

    async def generate(self, call: Call) -> Generation:
        return self.say(call.prompt, call.max_new_tokens, call.stop, call.marks, call.logit_bias, call.banned)


def _marked(said: Generation, behind: tuple[str, ...], mark: str, limit: int) -> Generation:
    """`said` with more pieces behind it, which may hold the mark."""
    pieces = (*said.pieces, *behind)[:limit]
    text = "".join(pieces)
    stop = StopReason.MARK if mark in text else StopReason.LENGTH if len(pieces) == limit else StopReason.BOUNDARY
    ids = tuple(FIRST_PIECE + PIECES.index(piece) for piece in pieces)
    return Generation(ids, (0.9,) * len(pieces), pieces, text, stop, None, Counters(calls=1))


class Reference:
    """The same dice as the reference program asks for them."""

    def __init__(self, babbler: Babbler) -> None:
        self.bos = list(babbler.bos)
        self.encode = babbler.encode
        self.text_of = babbler
        self._babbler = babbler

    def generate(
        self,
        prompt: Sequence[int],
        unit: Any,
        limit: int,
        stops: Any,
        bias: Any = None,
        banned: frozenset[int] = frozenset(),
        marks: tuple[str, ...] = (),
        **_: Any,
    ) -> Output:
        said = self._babbler.say(prompt, limit, stops, marks, bias, banned)
        return Output(
            said.tokens,
            said.probabilities,
            said.pieces,
            said.text,
            said.stop.value,
            said.eos_probability,
            generated=said.tokens,
        )
