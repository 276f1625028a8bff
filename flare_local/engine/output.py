"""What a call has generated so far, when it is done, and what of it is kept."""

from collections.abc import Sequence

from flare_local.engine.call import Call, Generation, Sentence, StopReason, Tokens
from flare_local.engine.counters import Counters
from flare_local.engine.sentence import certain_cut, final_cut
from flare_local.engine.text import TextCodec
from flare_local.spans import Kind, span


class Output:
    """Grows token by token until `done`. Knows text, never slots."""

    def __init__(self, call: Call, codec: TextCodec, eos_ids: frozenset[int]) -> None:
        self.call = call
        self.tokens: list[int] = []  # EOS excluded
        self.probabilities: list[float] = []
        self.eos_probability: float | None = None
        self._codec = codec
        self._eos_ids = eos_ids
        self._ended: StopReason | None = None
        self._ends_at = -1  # character where a stop string begins, or a mark ends
        unit = call.until.count if isinstance(call.until, Tokens) else call.max_new_tokens
        self._limit = min(unit, call.max_new_tokens)
        self._full = (
            StopReason.BOUNDARY if isinstance(call.until, Tokens) and unit == self._limit else StopReason.LENGTH
        )

    @property
    def done(self) -> bool:
        """Whether no further token is wanted."""
        return self._ended is not None

    @property
    def left(self) -> int:
        """How many tokens may still be generated."""
        return 0 if self.done else self._limit - len(self.tokens)

    @property
    def _may_cut(self) -> bool:
        # Source: released program, which leaves a text of one token as it is.
        return len(self.tokens) > 1 or not isinstance(self.call.until, Sentence)

    def push(self, token: int, probability: float) -> None:
        """Adds the next token. Not to be called when done."""
        assert not self.done
        if token in self._eos_ids:
            self.eos_probability, self._ended = probability, StopReason.EOS
            return
        self.tokens.append(token)
        self.probabilities.append(probability)
        with span(Kind.TEXT):
            text = self._codec.decode(tuple(self.tokens))
        with span(Kind.SENTENCE):
            self._see_the_end(text)

    def _see_the_end(self, text: str) -> None:
        if found := first_end(text, self.call.stop, self.call.marks):
            self._ends_at, self._ended = found
        elif (
            self._may_cut and certain_cut(text, self.call.until) is not None and not ends_in_stop(text, self.call.stop)
        ):
            self._ended = StopReason.BOUNDARY
        elif len(self.tokens) == self._limit:
            self._ended = self._full

    def generation(self, counters: Counters) -> Generation:
        """The kept part: up to the stop string, then up to the end of the unit."""
        with span(Kind.TEXT, "cut"):
            return self._generation(counters)

    def _generation(self, counters: Counters) -> Generation:
        assert self._ended is not None
        text = self._codec.decode(tuple(self.tokens))
        starts = self._codec.starts(tuple(self.tokens))
        kept, reason = len(self.tokens), self._ended
        if reason in (StopReason.STOP, StopReason.MARK):
            text = text[: self._ends_at]
            kept = kept_tokens(starts, self._ends_at)
        cut = final_cut(text, self.call.until) if self._may_cut else None
        if cut is not None:
            kept, reason = kept_tokens(starts, cut), StopReason.BOUNDARY
        if reason in (StopReason.BOUNDARY, StopReason.MARK):
            text = self._codec.decode(tuple(self.tokens[:kept]))
        return Generation(
            tokens=tuple(self.tokens[:kept]),
            probabilities=tuple(self.probabilities[:kept]),
            pieces=self._codec.pieces(tuple(self.tokens[:kept])),
            text=text,
            stop=reason,
            eos_probability=self.eos_probability if reason is StopReason.EOS else None,
            counters=counters,
        )


def first_end(text: str, stops: Sequence[str], marks: Sequence[str]) -> tuple[int, StopReason] | None:
    """Where `text` ends because of a stop string (before it) or a mark (behind it), whichever begins first."""
    found = [(at, at, StopReason.STOP) for at in map(text.find, stops) if at >= 0]
    found += [(at, at + len(mark), StopReason.MARK) for mark in marks if (at := text.find(mark)) >= 0]
    return min(found)[1:] if found else None


def ends_in_stop(text: str, stops: Sequence[str]) -> bool:
    """Whether `text` may end in the first part of a stop string: the next token may take back what looks certain."""
    return any(text.endswith(stop[:length]) for stop in stops for length in range(1, len(stop)))


def kept_tokens(starts: list[int], cut: int) -> int:
    """How many tokens a cut at character `cut` keeps: those that begin before it, so one that straddles it stays whole.

    Source: released program, which cuts at the first token whose offset is at or after the end of the sentence.
    """
    return sum(start < cut for start in starts)
