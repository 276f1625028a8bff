"""ROUGE-L worked out by hand, and against a longest common subsequence written here."""

from fractions import Fraction as F

import pytest

pytest.importorskip("rouge_score")

from flare_local.metrics.rouge import Rouge

ROUGE = Rouge()


def f(shared: int, predicted: int, reference: int) -> F:
    """Of words in both orders, in the prediction, in the reference."""
    return F(2 * shared, predicted + reference)


# prediction, reference, F
SUMMARIES = [
    ("bridge", "bridge", F(1)),
    ("bridge", "harbour", F(0)),
    ("", "harbour", F(0)),
    ("the old bridge", "the new bridge", f(2, 3, 3)),
    ("bridge old the", "the old bridge", f(1, 3, 3)),
    ("The OLD bridge!", "the old bridge", F(1)),
    ("old bridge", "the old bridge of Sund", f(2, 2, 5)),
    ("built bridges", "build bridge", F(0)),  # no stemmer
    ("a b c d", "a c b d", f(3, 4, 4)),
    ("1904 and 1960", "1904 or 1960", f(2, 3, 3)),
    ("# History\nIt is old.", "# History It is old.", F(1)),
    ("a a a", "a", f(1, 3, 1)),
]


@pytest.mark.parametrize(("predicted", "reference", "value"), SUMMARIES)
def test_rouge_l_of_summaries(predicted: str, reference: str, value: F) -> None:
    assert ROUGE.summary(predicted, [reference]) == pytest.approx(float(value))


# prediction, references, F: one longest common subsequence a sentence of the reference, words of the prediction once
LONG = [
    ("Bridge.", ["Bridge."], F(1)),
    ("Bridge.", ["Harbour."], F(0)),
    ("", ["Harbour."], F(0)),
    ("Built bridges.", ["Build bridge."], f(1, 2, 2)),  # bridge, not built: Porter's stemmer
    ("It opened in 1904. It is old.", ["It opened in 1904. It is old."], F(1)),
    ("It is old. It opened in 1904.", ["It opened in 1904. It is old."], F(1)),  # sentences in any order
    ("It opened in 1904.", ["It opened in 1904. It is old."], f(4, 4, 7)),
    ("Old bridge.", ["New bridge.", "Old bridge."], F(1)),  # the better reference
    ("Old bridge.", ["Old harbour town.", "New bridge."], f(1, 2, 2)),
    ("a b c d.", ["a c b d."], f(3, 4, 4)),
    ("Dr. Hale built it.", ["Dr. Hale built it."], F(1)),
    ("a b. c d.", ["a b c d."], F(1)),  # union of subsequences
]


@pytest.mark.parametrize(("predicted", "references", "value"), LONG)
def test_rouge_lsum_of_long_answers(predicted: str, references: list[str], value: F) -> None:
    assert ROUGE.long_answer(predicted, references) == pytest.approx(float(value))


def subsequence(left: list[str], right: list[str]) -> int:
    """Length of the longest common subsequence, by its definition."""
    if not left or not right:
        return 0
    if left[-1] == right[-1]:
        return subsequence(left[:-1], right[:-1]) + 1
    return max(subsequence(left[:-1], right), subsequence(left, right[:-1]))


def test_rouge_l_is_the_longest_common_subsequence() -> None:
    import random

    rng = random.Random(0)
    for _ in range(40):
        left, right = (rng.choices("abcd", k=rng.randint(1, 7)) for _ in range(2))
        expected = f(subsequence(left, right), len(left), len(right))
        assert ROUGE.summary(" ".join(left), [" ".join(right)]) == pytest.approx(float(expected))
