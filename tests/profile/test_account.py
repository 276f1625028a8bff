"""The account of a profile, on timelines made by hand and by dice: every nanosecond counts once."""

import random
from itertools import pairwise

import pytest

from flare_local.profile.account import account, answering_account, own_times, question_accounts, run_account
from flare_local.profile.names import GROUPS, LABELS
from flare_local.profile.reader import Profile
from flare_local.profile.style import COLOURS
from flare_local.spans import AT_ONCE, Kind, Span, Track

MAIN, ENGINE, ASKED, OTHER = 1, 2, 3, 4
TRACKS = {
    MAIN: Track(MAIN, "MainThread"),
    ENGINE: Track(ENGINE, "flare-engine"),
    ASKED: Track(ASKED, "Who?", 0),
    OTHER: Track(OTHER, "Where?", 0),
}


def timeline(*spans: Span) -> Profile:
    return Profile(TRACKS, sorted(spans, key=lambda span: (span.began, -span.ended)))


def span(kind: Kind, track: int, began: int, ended: int, question: int = 0) -> Span:
    return Span(kind, "", track, question or (track if track >= ASKED else 0), began, ended)


def forward(kind: Kind, began: int, ended: int, *questions: int) -> Span:
    calls = [{"question": question, "tokens": 1, "proposals": 0, "at": 0} for question in questions]
    return Span(kind, "", ENGINE, 0, began, ended, {"tokens": len(calls), "rows": len(calls), "calls": calls})


def test_own_time_is_what_no_inner_span_takes() -> None:
    pieces = own_times(
        [span(Kind.TREE, ENGINE, 0, 100), span(Kind.TEXT, ENGINE, 10, 30), span(Kind.TEXT, ENGINE, 30, 50)]
    )
    assert [(piece.span.kind, piece.began, piece.ended) for piece in pieces] == [
        (Kind.TREE, 0, 10),
        (Kind.TEXT, 10, 30),
        (Kind.TEXT, 30, 50),
        (Kind.TREE, 50, 100),
    ]


def test_a_moment_counts_for_the_first_kind_and_is_beside_for_the_others() -> None:
    run = run_account(
        timeline(
            span(Kind.RUN, MAIN, 0, 100),
            span(Kind.SEARCH, ASKED, 10, 60),
            forward(Kind.PREFILL, 40, 80),
        )
    )
    assert run.wall == {Kind.PREFILL: 40, Kind.SEARCH: 30, Kind.RUN: 30}
    assert run.beside == {Kind.SEARCH: 20}
    assert run.outside == pytest.approx(0.3)


def test_a_question_waits_for_forwards_of_others() -> None:
    profile = timeline(
        span(Kind.RUN, MAIN, 0, 200),
        span(Kind.POLICY, ASKED, 0, 100),
        span(Kind.WAIT, ASKED, 10, 60),
        span(Kind.SEARCH, ASKED, 60, 90),
        span(Kind.POLICY, OTHER, 0, 200),
        forward(Kind.DECODE, 20, 30, ASKED, OTHER),
        forward(Kind.PREFILL, 30, 45, OTHER),
        span(Kind.SCORE, ENGINE, 45, 50),
        forward(Kind.DECODE, 60, 100, OTHER),
    )
    asked, other = question_accounts(profile)
    assert asked.wall == {
        Kind.DECODE: 10,
        Kind.OTHERS: 15,
        Kind.SCORE: 5,
        Kind.WAIT: 20,
        Kind.SEARCH: 30,
        Kind.POLICY: 20,
    }
    assert (other.wall[Kind.DECODE], other.wall[Kind.PREFILL]) == (50, 15)
    answering = answering_account(profile)
    assert answering is not None
    assert answering.length == 200


def test_a_question_that_waits_for_two_things_at_once_waits_until_the_last() -> None:
    beside = 5
    profile = Profile(
        TRACKS | {beside: Track(beside, AT_ONCE, ASKED)},
        [
            span(Kind.POLICY, ASKED, 0, 100),
            span(Kind.WAIT, ASKED, 10, 40),
            span(Kind.WAIT, beside, 11, 70),
        ],
    )
    (asked,) = question_accounts(profile)
    assert asked.wall == {Kind.POLICY: 40, Kind.WAIT: 60}


def test_a_run_without_a_question_has_nothing_to_answer() -> None:
    assert answering_account(timeline(span(Kind.RUN, MAIN, 0, 9))) is None


@pytest.mark.parametrize("seed", range(30))
def test_every_nanosecond_counts_once_whatever_the_timeline(seed: int) -> None:
    dice = random.Random(seed)
    spans = [span(Kind.RUN, MAIN, 0, 1000)]
    for track in (MAIN, ENGINE, ASKED, OTHER):
        spans += nested(dice, track, 0, 1000, depth=3)
    pieces = own_times(spans)
    for track in (MAIN, ENGINE, ASKED, OTHER):
        mine = [piece for piece in pieces if piece.span.track == track]
        assert all(a.ended <= b.began for a, b in pairwise(mine))
    made = account(pieces, 0, 1000, tuple(Kind))
    assert sum(made.wall.values()) == 1000
    named = [made.group(name) for name in GROUPS]
    assert sum(named) == 1000


def nested(dice: random.Random, track: int, began: int, ended: int, depth: int) -> list[Span]:
    """Spans side by side, and others inside them."""
    spans: list[Span] = []
    at = began
    while depth and at < ended - 3:
        begin = dice.randint(at, ended - 2)
        end = dice.randint(begin + 1, ended)
        kind = dice.choice([kind for kind in Kind if kind not in (Kind.RUN, Kind.NOTE)])
        spans += [span(kind, track, begin, end), *nested(dice, track, begin, end, depth - 1)]
        at = end
    return spans


def test_every_kind_has_a_group_a_label_and_a_colour() -> None:
    kinds = set(Kind) - {Kind.NOTE}
    assert {kind for group in GROUPS.values() for kind in group} == kinds
    assert set(LABELS) == kinds
    assert set(COLOURS) == kinds
