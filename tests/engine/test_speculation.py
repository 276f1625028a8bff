"""How many proposals are run, by what forwards are known to cost and proposals to be worth."""

import asyncio

import pytest
import torch

from flare_local.engine.call import Call, Tokens
from flare_local.engine.forward_cost import FORGOTTEN, OUTLIER, RATE, ForwardCost
from flare_local.engine.speculation import MEASURED, NO_SPECULATION, Source, Speculation, Speculator
from tests.engine.test_engine import PROMPT, tiny_engine


def known(*points: tuple[int, float]) -> ForwardCost:
    cost = ForwardCost()
    for rows, ms in points:
        cost.note(rows, ms)
    return cost


def test_between_what_was_measured_lies_a_straight_line_and_beyond_it_the_last_two_go_on() -> None:
    cost = known((1, 100.0), (5, 120.0), (105, 1120.0))
    assert [cost.of(rows) for rows in (1, 3, 5, 15, 205)] == pytest.approx([100, 110, 120, 220, 2120], rel=0.02)


def test_nothing_known_costs_nothing_and_one_time_is_shared_out() -> None:
    assert ForwardCost().of(7) == 0
    assert known((500, 1000.0)).of(1) == pytest.approx(2.0, rel=0.05)


def test_more_rows_never_cost_less() -> None:
    cost = known((1, 100.0), (2, 300.0), (4, 120.0), (8, 130.0))
    curve = [cost.of(rows) for rows in range(1, 12)]
    assert curve == sorted(curve)
    assert cost.of(2) == cost.of(4) == cost.of(8) == pytest.approx(550 / 3)


def test_a_pause_counts_as_twice_the_usual_time_at_most() -> None:
    assert known((3, 100.0), (3, 90_000.0)).of(3) == pytest.approx(100 + RATE * 100 * (OUTLIER - 1))


def test_what_was_not_seen_for_long_is_forgotten_and_tried_again() -> None:
    cost = known((1, 100.0), (4, 900.0))
    for _ in range(FORGOTTEN):
        cost.note(1, 100.0)
    assert cost.of(4) == pytest.approx(400.0)


def taught(*points: tuple[int, float]) -> Speculator:
    speculator = Speculator(MEASURED)
    speculator.cost = known(*points)
    return speculator


def test_where_rows_are_nearly_free_all_proposals_run() -> None:
    assert taught((1, 100.0), (2, 101.0), (17, 110.0)).width(Source.DRAFT, 9, 1, 1) == 9


def test_where_a_second_row_costs_as_much_as_the_first_none_runs() -> None:
    assert taught((1, 100.0), (2, 195.0), (17, 1500.0)).width(Source.DRAFT, 9, 1, 1) == 0


def test_beside_a_prefill_a_row_costs_its_share_so_the_likely_part_of_a_draft_runs() -> None:
    speculator = taught((1, 30.0), (2, 57.0), (64, 800.0), (512, 6400.0))
    assert 1 <= speculator.width(Source.DRAFT, 20, 300, 1) < 20
    assert speculator.width(Source.DRAFT, 20, 1, 1) == 0


def test_proposals_that_prove_wrong_are_no_longer_run_and_come_back_when_they_prove_right() -> None:
    speculator = taught((1, 100.0), (2, 130.0), (17, 580.0))
    assert speculator.width(Source.SEEN, 4, 1, 1) > 0
    for _ in range(40):
        speculator.judged(Source.SEEN, 4, 0)
    assert speculator.width(Source.SEEN, 4, 1, 1) == 0
    assert speculator.width(Source.TAIL, 4, 1, 1) > 0  # each source for itself
    for _ in range(40):
        speculator.judged(Source.SEEN, 4, 4)
    assert speculator.width(Source.SEEN, 4, 1, 1) == 4


def test_in_a_crowd_a_token_is_worth_its_share_of_the_forward() -> None:
    speculator = taught((1, 100.0), (8, 120.0), (16, 240.0), (32, 480.0))
    assert speculator.width(Source.DRAFT, 3, 1, 1) == 3
    assert speculator.width(Source.DRAFT, 3, 8, 8) == 0


def test_without_measuring_everything_runs() -> None:
    assert Speculator(Speculation(measured=False)).width(Source.SEEN, 9, 1, 1) == 9


@pytest.mark.parametrize("speculation", [MEASURED, NO_SPECULATION, Speculation(measured=False)])
def test_an_engine_answers_the_same_whatever_it_proposes(speculation: Speculation) -> None:
    with tiny_engine(speculation=speculation) as engine, tiny_engine() as plainly:
        for draft in [(), (1, 2, 3), PROMPT[:6]]:
            call = Call(PROMPT * 2, Tokens(12), 12, stop=(), speculate=draft)
            got, expected = (asyncio.run(each.generate(call)) for each in (engine, plainly))
            assert got.tokens == expected.tokens
            assert got.probabilities == pytest.approx(expected.probabilities, abs=1e-9)
            assert speculation is not NO_SPECULATION or got.counters.drafted == 0
        assert engine.model.dtype is torch.float64
