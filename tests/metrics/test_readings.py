"""ASQA's metrics, worked out by hand, and DR of every row that the paper prints."""

from fractions import Fraction as F

import pytest

from flare_local.datasets.item import Reading
from flare_local.metrics.readings import disambig_f1, dr, str_em

TWO = (Reading("old?", ("1904", "May 1904")), Reading("new?", ("1960",)))
THREE = (*TWO, Reading("third?", ("the Gora Bridge",)))

# prediction, readings, share of readings whose answer stands in it
STR_EM = [
    ("In 1904 and in 1960.", TWO, F(1)),
    ("In 1904.", TWO, F(1, 2)),
    ("Never.", TWO, F(0)),
    ("", TWO, F(0)),
    ("may 1904", TWO, F(1, 2)),
    ("It was 19604.", TWO, F(1, 2)),  # a substring counts, as in ASQA's script
    ("1904, 1960, and Gora bridge.", THREE, F(1)),
    ("the gora-bridge of 1960", THREE, F(1, 3)),
    ("Gora's bridge of 1904", THREE, F(1, 3)),
    ("1960 1904", THREE, F(2, 3)),
    ("19 04", TWO, F(0)),
    ("A Gora the Bridge", THREE, F(1, 3)),
]


@pytest.mark.parametrize(("predicted", "readings", "share"), STR_EM)
def test_str_em(predicted: str, readings: tuple[Reading, ...], share: F) -> None:
    assert str_em(predicted, readings) == pytest.approx(float(share))


# what a QA model read off, readings, mean F1
DISAMBIG = [
    (["1904", "1960"], TWO, F(1)),
    (["1904", ""], TWO, F(1, 2)),
    (["", ""], TWO, F(0)),
    (["in 1904", "1960"], TWO, (F(2, 3) + 1) / 2),
    (["May 1904", "1961"], TWO, F(1, 2)),
    (["in May 1904", "1960"], TWO, (F(4, 5) + 1) / 2),
    (["1960", "1904"], TWO, F(0)),
    (["1904", "1960", "Gora Bridge"], THREE, F(1)),
    (["1904", "1960", "Bridge"], THREE, (2 + F(2, 3)) / 3),
    (["", "", "old Gora"], THREE, F(1, 2) / 3),
    (["the", "a", "the"], THREE, F(0)),
    (["1904 1960", "1904 1960", "1904 1960"], THREE, (2 * F(2, 3)) / 3),
]


@pytest.mark.parametrize(("read_off", "readings", "f1"), DISAMBIG)
def test_disambig_f1(read_off: list[str], readings: tuple[Reading, ...], f1: F) -> None:
    assert disambig_f1(read_off, readings) == pytest.approx(float(f1))


# D-F1, R-L, DR of tables 2, 3 and 6
PAPER = [
    (24.2, 33.3, 28.4),
    (27.1, 34.0, 30.4),
    (27.0, 34.3, 30.4),
    (27.9, 34.3, 30.9),
    (28.2, 34.3, 31.1),
    (32.5, 36.4, 34.4),
    (34.8, 37.4, 36.0),
    (35.7, 37.5, 36.6),
    (35.9, 37.5, 36.7),
    (36.7, 37.7, 37.2),
    (34.1, 36.9, 35.5),
    (35.7, 37.5, 36.6),
    (36.9, 37.7, 37.3),
    (36.7, 37.7, 37.2),
]


@pytest.mark.parametrize(("disambig", "rouge", "printed"), PAPER)
def test_dr_of_the_papers_rows(disambig: float, rouge: float, printed: float) -> None:
    assert dr(disambig, rouge) == pytest.approx(printed, abs=0.1)  # its inputs are rounded to 0.1 too
