"""`python -m tests.fuzz`: its exit code, the numbers that replay a program, and that a wrong product fails."""

import pytest

from flare_local.errors import PoolTooSmall
from flare_local.policies import trigger
from flare_local.policies.budget import Budget
from tests.fuzz import __main__
from tests.fuzz.__main__ import main
from tests.fuzz.meter import Meter
from tests.fuzz.program import Program, program
from tests.fuzz.run import run


def test_a_program_is_the_same_whenever_it_is_asked_for() -> None:
    assert program(3, 9) == program(3, 9)
    assert program(3, 9) != program(4, 9)
    assert program(3, 9) != program(3, 10)


def test_programs_run_and_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--programs", "3", "--seed", "5"]) == 0
    told = capsys.readouterr().out
    assert told.startswith("seed 5, 3 programs\n")
    assert told.endswith("3 programs, 0 failures\n")
    assert "       3 answers\n" in told


def test_what_fails_is_told_by_number(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(one: Program, _: Meter) -> None:
        assert one.number != 2, "no"

    monkeypatch.setattr(__main__, "run", fails)
    assert main(["--programs", "4", "--seed", "5"]) == 1
    told = capsys.readouterr().out
    assert "program 2 of seed 5" in told
    assert told.endswith("4 programs, 1 failures: [2]\n")
    assert main(["--seed", "5", "--only", "2"]) == 1
    assert main(["--seed", "5", "--only", "1"]) == 0


@pytest.mark.parametrize(
    ("part", "name", "wrong"),
    [
        (Budget, "_exemplars_to_drop", lambda self, room: self._exemplars),
        (trigger, "improbable", lambda probability, rules: probability > rules.theta),
    ],
)
def test_a_wrong_rule_fails(part: object, name: str, wrong: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(part, name, wrong)

    def run_many() -> None:
        for number in range(100):
            run(program(6, number), Meter())

    # Where the pool holds no more than the oracle's longest call, a longer one of the product does not fit.
    with pytest.raises((AssertionError, PoolTooSmall), match=r"product against oracle|One sequence needs"):
        run_many()
