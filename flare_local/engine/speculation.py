"""How many proposals go into a forward: as many as are expected to save more time than their rows cost."""

from dataclasses import dataclass
from enum import StrEnum

from flare_local.engine.forward_cost import ForwardCost

RATE = 1 / 16  # share of a new outcome in the estimate of how often proposals are right


class Source(StrEnum):
    """Where proposals come from."""

    DRAFT = "draft"  # the rejected draft, as long as the output agrees with it
    TAIL = "tail"  # the same draft, behind a place where the output left it and came back
    SEEN = "seen"  # what followed the same tokens earlier in the sequence


BEFORE_ANY = {Source.DRAFT: 0.7, Source.TAIL: 0.7, Source.SEEN: 0.5}  # how often the next one is right, at first


@dataclass(frozen=True)
class Speculation:
    """What is proposed. No setting changes an answer, only what it costs."""

    sources: frozenset[Source] = frozenset(Source)
    most: int = 16  # looked-up tokens in one forward; of a draft that still agrees, all may be offered
    measured: bool = True  # offer what is expected to pay; False: always all there is, whatever it costs


MEASURED = Speculation()
DRAFT_ONLY = Speculation(frozenset([Source.DRAFT]), measured=False)  # the same forwards on every machine
NO_SPECULATION = Speculation(frozenset())


class Speculator:
    """Learns what forwards cost and how often proposals are right, and chooses by both."""

    def __init__(self, speculation: Speculation) -> None:
        self.settings = speculation
        self.cost = ForwardCost()
        self._right = dict(BEFORE_ANY)

    def width(self, source: Source, count: int, rows: int, sequences: int) -> int:
        """How many of `count` proposals to run in a forward that has `rows` rows without them.

        `sequences`: how many calls it brings one token further. A proposal that is right saves its call that part of
        a later forward; the w that saves most, less what w more rows cost, is taken, 0 where none gains.
        """
        if not self.settings.measured:
            return count
        token = self.cost.of(sequences) / max(1, sequences)
        alone = self.cost.of(rows)
        best, gain, expected, right = 0, 0.0, 0.0, 1.0
        for width in range(1, count + 1):
            right *= self._right[source]
            expected += right
            if (now := expected * token - (self.cost.of(rows + width) - alone)) > gain:
                best, gain = width, now
        return best

    def judged(self, source: Source, offered: int, accepted: int) -> None:
        """Of `offered` proposals the first `accepted` were right, and the next one, if there was one, was not."""
        for right in [True] * accepted + [False] * (accepted < offered):
            self._right[source] += RATE * (right - self._right[source])

    def right(self, source: Source) -> float:
        """How often a proposal behind right ones is expected to be right."""
        return self._right[source]
