"""Intervals, paired tests, numbers of questions and calibration, against scipy, scikit-learn and by hand."""

import random
from math import isnan, sqrt

import numpy
import pytest
from scipy import stats
from sklearn.calibration import calibration_curve

from flare_local.errors import UsageError
from flare_local.metrics.bootstrap import Interval, interval, share_interval
from flare_local.metrics.calibration import lowest_cases, reliability, token_cases
from flare_local.metrics.paired import compare, sign_test
from flare_local.metrics.sample_size import questions_needed
from flare_local.metrics.statistic import Table, geometric_mean, mean, ratio


def table(*columns: list[float], first: int = 0) -> Table:
    return Table.of({str(number): row for number, row in enumerate(zip(*columns, strict=True), first)})


def flips(rng: random.Random, count: int, chance: float) -> list[float]:
    return [float(rng.random() < chance) for _ in range(count)]


def test_an_interval_is_scipys_percentile_bootstrap() -> None:
    values = flips(random.Random(0), 200, 0.3)
    ours = interval(table(values), mean)
    theirs = stats.bootstrap((values,), numpy.mean, method="percentile", n_resamples=10_000, rng=1).confidence_interval
    assert ours is not None
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=0.01)


def test_an_interval_is_the_same_for_the_same_seed_in_blocks_of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(0)
    values = table([rng.random() for _ in range(50)])
    first = interval(values, mean, seed=3)
    assert interval(values, mean, seed=3) == first
    assert interval(values, mean, seed=4) != first
    monkeypatch.setattr("flare_local.metrics.bootstrap.CELLS", 1000)
    assert interval(values, mean, seed=3) == first


def test_an_interval_covers_the_truth_in_about_95_of_100_tries() -> None:
    rng = random.Random(0)
    covered = 0
    for seed in range(200):
        found = interval(table(flips(rng, 100, 0.4)), mean, seed, resamples=500)
        assert found is not None
        covered += found.low <= 0.4 <= found.high
    assert 0.9 <= covered / 200 <= 0.99


def test_a_share_of_none_or_all_has_the_exact_interval() -> None:
    for value, right in ((0.0, 0), (1.0, 12)):
        found = share_interval(table([value] * 12), mean)
        exact = stats.binomtest(right, 12).proportion_ci(0.95, method="exact")
        assert found is not None
        assert (found.low, found.high) == pytest.approx((exact.low, exact.high))
    assert interval(table([0.0] * 12), mean) == Interval(0.0, 0.0)  # counts that never differ
    mixed = table([0.0, 1.0, 1.0])
    assert share_interval(mixed, mean) == interval(mixed, mean)


def test_figures_of_two_values_are_resampled_together() -> None:
    disambig, rouge = [0.2, 0.4, 0.3, 0.5], [0.3, 0.3, 0.4, 0.2]
    both = table(disambig, rouge)
    assert both.figure(geometric_mean) == pytest.approx(sqrt(0.35 * 0.3))
    found = interval(both, geometric_mean)
    assert found is not None
    assert found.low < sqrt(0.35 * 0.3) < found.high
    assert table([1.0, 0.0, 3.0], [4.0, 2.0, 4.0]).figure(ratio) == pytest.approx(0.4)  # not the mean of 1/4, 0, 3/4


def test_questions_without_a_value_are_left_out() -> None:
    found = Table.of({"1": (1.0,), "2": (None,), "3": (float("nan"),), "4": (0.0,)})
    assert found.ids == ("1", "4")
    assert Table.of({}).ids == ()
    assert interval(table([1.0]), mean) is None


@pytest.mark.parametrize(("better", "worse"), [(0, 0), (1, 0), (5, 0), (6, 0), (3, 3), (10, 3), (40, 60)])
def test_the_sign_test_is_the_binomial_test(better: int, worse: int) -> None:
    expected = 1.0 if better + worse == 0 else stats.binomtest(better, better + worse).pvalue
    assert sign_test(better, worse) == pytest.approx(expected)


def test_the_exact_permutation_test_is_scipys() -> None:
    rng = random.Random(2)
    for _ in range(10):
        first = [rng.choice([0.0, 0.25, 0.5, 1.0]) for _ in range(11)]
        second = [rng.choice([0.0, 0.25, 0.5]) for _ in range(11)]
        found = compare(table(first), table(second))
        apart = numpy.subtract(first, second)
        theirs = stats.permutation_test((apart,), numpy.mean, permutation_type="samples", n_resamples=numpy.inf)
        assert found.exact
        assert found.p_exchange == pytest.approx(theirs.pvalue)


def test_the_drawn_permutation_test_is_near_scipys() -> None:
    rng = random.Random(3)
    first, second = ([rng.random() + shift for _ in range(40)] for shift in (0.1, 0.0))
    found = compare(table(first), table(second))
    apart = numpy.subtract(first, second)
    theirs = stats.permutation_test((apart,), numpy.mean, permutation_type="samples", n_resamples=20_000, rng=1)
    assert not found.exact
    assert 0.01 < found.p_exchange == pytest.approx(theirs.pvalue, abs=0.02)
    assert found == compare(table(first), table(second))


def test_right_and_wrong_are_compared_exactly_on_many_questions() -> None:
    rng = random.Random(3)
    first, second = flips(rng, 3000, 0.52), flips(rng, 3000, 0.5)
    found = compare(table(first), table(second))
    assert found.exact
    assert found.p_exchange == pytest.approx(found.p_sign)  # equal steps: the same test


def test_blocks_of_any_size_draw_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(3)
    first, second = (table([rng.random() for _ in range(40)]) for _ in range(2))
    found = compare(first, second)
    monkeypatch.setattr("flare_local.metrics.paired.CELLS", 1000)
    assert compare(first, second) == found


def test_a_comparison_is_over_shared_questions_in_any_order() -> None:
    first = Table.of({"a": (1.0,), "b": (0.0,), "c": (1.0,)})
    second = Table.of({"c": (0.0,), "x": (1.0,), "a": (1.0,)})
    found = compare(first, second)
    assert (found.questions, found.difference, found.better, found.worse) == (2, 0.5, 1, 0)
    with pytest.raises(UsageError, match="no question in common"):
        compare(first, Table.of({"x": (1.0,)}))


def test_a_method_is_no_better_than_itself() -> None:
    one = table([1.0, 0.0, 1.0])
    found = compare(one, one)
    assert (found.difference, found.p_sign, found.p_exchange, found.needed) == (0.0, 1.0, 1.0, None)


def test_figures_of_two_values_are_compared_by_exchanges() -> None:
    left, right = table([0.9] * 12, [0.5] * 12), table([0.1] * 12, [0.5] * 12)
    found = compare(left, right, geometric_mean)
    assert found.difference == pytest.approx(sqrt(0.45) - sqrt(0.05))
    assert found.p_exchange == pytest.approx(2 / 2**12)
    assert isnan(found.p_sign)


def test_false_alarms_are_as_rare_as_they_should_be() -> None:
    rng = random.Random(5)
    alarms = [compare(table(flips(rng, 14, 0.5)), table(flips(rng, 14, 0.5))).p_exchange <= 0.05 for _ in range(100)]
    assert sum(alarms) <= 10


def test_so_many_questions_see_the_difference_in_80_of_100_tries() -> None:
    rng = random.Random(6)

    def sample(count: int) -> list[float]:
        return [a - b for a, b in zip(flips(rng, count, 0.6), flips(rng, count, 0.4), strict=True)]

    needed = questions_needed(sample(20_000), 0.2)
    assert needed is not None
    assert 85 <= needed <= 105  # (1.96 + .84)**2 * .48 / .2**2 - the square of .2 in the spread
    seen = [stats.ttest_1samp(sample(needed), 0).pvalue < 0.05 for _ in range(400)]
    assert 0.74 <= sum(seen) / 400 <= 0.87
    assert questions_needed([1.0], 0.2) is None
    assert questions_needed([0.5, 0.5], 0.5) is None
    assert questions_needed([0.5, 0.0], 0.0) is None


def test_reliability_is_scikit_learns_curve() -> None:
    rng = random.Random(7)
    cases = [(p := rng.random(), float(rng.random() < p)) for _ in range(500)]
    found = reliability(cases)
    right, probability = calibration_curve([r for _, r in cases], [p for p, _ in cases], n_bins=10)
    assert [each.right for each in found.bins] == pytest.approx(list(right))
    assert [each.probability for each in found.bins] == pytest.approx(list(probability))
    assert found.count == 500


def test_reliability_by_hand() -> None:
    found = reliability([(0.0, 0.0), (0.1, 1.0), (0.95, 1.0), (1.0, 0.0)])
    assert [each.count for each in found.bins] == [2, 0, 0, 0, 0, 0, 0, 0, 0, 2]
    assert found.gap == pytest.approx((2 * abs(0.05 - 0.5) + 2 * abs(0.975 - 0.5)) / 4)
    assert reliability([]).gap == 0


def test_cases_are_tokens_or_answers() -> None:
    answers = [((0.9, 0.4), 1.0), ((), 1.0), ((0.3,), 0.0)]
    assert token_cases(answers) == [(0.9, 1.0), (0.4, 1.0), (0.3, 0.0)]
    assert lowest_cases(answers) == [(0.4, 1.0), (0.3, 0.0)]
