"""The margin rule: where the oracle's own numbers nearly tie, it counts the case and follows the engine."""

import math
from dataclasses import dataclass, field

TOKEN_GAP = 1e-3  # between the two best logits
PROBABILITY_GAP = 1e-4  # between a probability and theta or beta
CASES_ALLOWED = 1e-4  # of all decisions


@dataclass
class Margin:
    """Counts decisions and near ties. Wide dtypes (`exact`) have no near ties."""

    exact: bool = False
    decisions: int = 0
    cases: list[str] = field(default_factory=list)

    def token(self, own: int, theirs: int | None, distance: float) -> int:
        """The token to go on from. `distance`: how much the logit of `theirs` lies below the best one."""
        self.decisions += 1
        if theirs is None or theirs == own or self.exact or distance >= TOKEN_GAP:
            return own
        self.cases.append(f"token {theirs} for {own}, logits {distance:.1e} apart")
        return theirs

    def near(self, probability: float, threshold: float) -> bool:
        """Whether a comparison may come out either way."""
        self.decisions += 1
        return not self.exact and abs(probability - threshold) < PROBABILITY_GAP

    def follow(self, what: str) -> None:
        """Counts a comparison in which the oracle followed the engine."""
        self.cases.append(what)

    @property
    def allowed(self) -> int:
        return math.ceil(self.decisions * CASES_ALLOWED)

    def check(self) -> None:
        """Fails where near ties are too many to be near ties."""
        assert len(self.cases) <= self.allowed, f"{len(self.cases)} of {self.decisions} decisions: {self.cases[:5]}"
