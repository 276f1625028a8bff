"""What a call or an answer cost. Every count is of tokens or forwards, every time in milliseconds."""

from dataclasses import dataclass, fields


@dataclass
class Counters:
    """Adds up: the counters of an answer are the sum of those of its calls.

    Invariant, once an answer is complete: `run + reused` covers every token whose K and V its calls needed, and
    `run == useful + wasted + recomputed`, where useful tokens are part of the floor.
    """

    calls: int = 0
    forwards: int = 0  # forwards that this call took part in
    prompt_tokens: int = 0  # length of the prompts, cached or not
    run: int = 0  # tokens that went through the model
    reused: int = 0  # prompt tokens whose K and V were in the pool already
    warm: int = 0  # of those reused, the ones whose K and V a snapshot gave
    known: int = 0  # output tokens read from the tree without any forward
    recomputed: int = 0  # tokens run whose prefix had been run and kept before
    useful: int = 0  # tokens run that belong to a call's prompt or to its output up to the cut
    drafted: int = 0  # proposals verified
    accepted: int = 0  # proposals that equalled the model's choice
    evicted: int = 0  # slots taken from idle prefixes to make room
    floor: int = 0  # tokens that a trie of all calls gained (design: the least that must be run)
    prefill_ms: float = 0.0
    decode_ms: float = 0.0
    verify_ms: float = 0.0
    search_ms: float = 0.0
    total_ms: float = 0.0

    @property
    def wasted(self) -> int:
        """Tokens run that no call needed: rejected proposals, and tokens past a cut that no call went on from."""
        return self.run - self.useful - self.recomputed

    @property
    def other_ms(self) -> float:
        """Time in neither a forward nor a search."""
        return self.total_ms - self.prefill_ms - self.decode_ms - self.verify_ms - self.search_ms

    def add(self, other: "Counters") -> None:
        """Adds `other` in place, field by field."""
        for field in fields(self):
            setattr(self, field.name, getattr(self, field.name) + getattr(other, field.name))

    def as_dict(self) -> dict[str, float]:
        """All counts and times, the derived ones included, for JSON."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return values | {"wasted": self.wasted, "other_ms": self.other_ms}
