"""Random programs that ask eight questions at once of a pool that holds little more than one of their calls.

Answers are paused: what an answer has in the pool is evicted between its calls, and run again.
"""

import pytest

from tests.fuzz.meter import LEAST_AT_ONCE, Meter
from tests.fuzz.program import IN_CI, SEED, is_together, program
from tests.fuzz.run import MARGIN, run

NUMBERS = [number for number in range(IN_CI) if is_together(number)]
METER = Meter()


@pytest.mark.parametrize("number", NUMBERS)
def test_the_answers_are_the_oracles(number: int) -> None:
    run(program(SEED, number), METER)


def test_near_ties_in_fp32_are_rare() -> None:
    MARGIN.check()


def test_nothing_was_rare() -> None:
    if METER.counts["programs"] < len(NUMBERS):
        pytest.skip("only a part of the suite ran")
    print(METER.counts)
    assert METER.rarer_than(LEAST_AT_ONCE) == {}
