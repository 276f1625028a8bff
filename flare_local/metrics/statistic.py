"""Figures of a whole set of questions, as functions of the means of what each question has."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    Array = NDArray[numpy.float64]
else:
    Array = Any


def mean(means: Array) -> Array:
    """The mean of one value."""
    return means[..., 0]


def ratio(means: Array) -> Array:
    """Sum of the first over sum of the second: a share of all sentences, say, not a mean of shares."""
    import numpy

    with numpy.errstate(divide="ignore", invalid="ignore"):
        return means[..., 0] / means[..., 1]


def geometric_mean(means: Array) -> Array:
    """Of two values: ASQA's DR."""
    import numpy

    return numpy.sqrt(means[..., 0] * means[..., 1])


Figure = Callable[[Array], Array]  # [..., values of a question] of means -> [...]


@dataclass(frozen=True)
class Table:
    """Values of questions. Invariant: every row is whole; questions that lack a value are left out."""

    ids: tuple[str, ...]
    values: Array  # [questions, values]

    @classmethod
    def of(cls, values: dict[str, tuple[float | None, ...]]) -> "Table":
        """From values by id."""
        import numpy

        whole = {id: row for id, row in values.items() if all(value is not None and value == value for value in row)}
        width = len(next(iter(values.values()), ()))
        array = numpy.array(list(whole.values()), dtype=numpy.float64).reshape(len(whole), width)
        return cls(tuple(whole), array)

    def figure(self, figure: Figure) -> float:
        """The figure of all questions. At least one is there."""
        return float(figure(self.values.mean(axis=0)))
