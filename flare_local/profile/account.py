"""Where the time went: every nanosecond of a run, or of a question, counts for one kind of work; nothing counts twice.

A span's own time is what no span inside it takes. Where several threads work at one moment, it counts for the kind that
stands first in `Kind`, and is `beside` for the others: hidden behind the first.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from flare_local.errors import FlareError
from flare_local.profile.names import GROUPS, QUIET
from flare_local.profile.reader import Profile
from flare_local.spans import FORWARDS, Kind, Span

ENGINE = (
    Kind.PLAN,
    Kind.SCORE,
    Kind.TEXT,
    Kind.SENTENCE,
    Kind.TREE,
)  # the engine's own work, for all questions at once
OF_THE_RUN = tuple(kind for kind in Kind if kind is not Kind.NOTE)
# A question that searches or thinks is not kept by what the engine does for others.
OF_A_QUESTION = (
    *GROUPS["forwards"],
    Kind.PROMPT,
    Kind.OUTPUT,
    Kind.SEARCH,
    Kind.POLICY,
    *ENGINE,
    Kind.OTHERS,
    Kind.WAIT,
)


@dataclass(frozen=True)
class Piece:
    """A stretch of a span's own time."""

    span: Span
    began: int  # ns
    ended: int


@dataclass(frozen=True)
class Account:
    """Nanoseconds by kind. Invariant: `wall` sums up to the length of what it accounts for."""

    length: int
    wall: dict[Kind, int]
    beside: dict[Kind, int]  # own time that counts for other kinds, as they ran at the same moment

    def group(self, name: str) -> int:
        """Nanoseconds of all kinds of a group."""
        return sum(self.wall.get(kind, 0) for kind in GROUPS[name])

    @property
    def outside(self) -> float:
        """Share of time in neither a forward nor a search."""
        inside = self.group("forwards") + self.group("search")
        return (self.length - inside) / self.length if self.length else 0.0


def run_account(profile: Profile) -> Account:
    """The whole run, its start included."""
    run = profile.run
    return account(pieces_of(profile), run.began, run.ended, OF_THE_RUN)


def answering_account(profile: Profile) -> Account | None:
    """From the first question's beginning to the last one's end; None: no question was begun."""
    questions = profile.questions
    if not questions:
        return None
    began, ended = questions[0].began, max(span.ended for span in questions)
    return account(Pieces(pieces_of(profile)).within(began, ended), began, ended, OF_THE_RUN)


def question_accounts(profile: Profile) -> list[Account]:
    """One for each of `profile.questions`. A forward that a question took no part in is `Kind.OTHERS`."""
    pieces, by = Pieces(pieces_of(profile)), asked_for_by(profile)
    return [
        account(
            _of_question(pieces.within(span.began, span.ended), span, profile, by),
            span.began,
            span.ended,
            OF_A_QUESTION,
        )
        for span in profile.questions
    ]


def pieces_of(profile: Profile) -> list[Piece]:
    """Own times of all spans. A question whose verb is on its way waits, though that verb lies on a track beside."""
    verbs: dict[int, list[Span]] = {}
    for span in profile.spans:
        if profile.at_once(span.track):
            verbs.setdefault(profile.question_of(span.track), []).append(span)
    pieces = own_times(profile.spans)
    if not verbs:
        return pieces
    policy = [piece for piece in pieces if piece.span.kind is Kind.POLICY and piece.span.track in verbs]
    rest = [piece for piece in pieces if piece.span.kind is not Kind.POLICY or piece.span.track not in verbs]
    cut = [part for piece in policy for part in _without(piece, verbs[piece.span.track])]
    return sorted([*rest, *cut], key=lambda piece: piece.began)


def _without(piece: Piece, verbs: Sequence[Span]) -> Iterator[Piece]:
    """What of a piece lies in none of `verbs`, which are in order of beginning."""
    at = piece.began
    for verb in verbs:
        if verb.ended > at and verb.began < piece.ended:
            if verb.began > at:
                yield Piece(piece.span, at, verb.began)
            at = verb.ended
    if at < piece.ended:
        yield Piece(piece.span, at, piece.ended)


def own_times(spans: Iterable[Span]) -> list[Piece]:
    """Each span without those inside it on its track, in order of beginning."""
    by_track = sorted(spans, key=lambda span: (span.track, span.began, -span.ended))
    pieces = [piece for _, track in groupby(by_track, key=lambda span: span.track) for piece in _flat(track)]
    return sorted((piece for piece in pieces if piece.ended > piece.began), key=lambda piece: piece.began)


def _flat(track: Iterable[Span]) -> Iterator[Piece]:
    """The pieces of one track, whose spans come an outer one before those inside it. Some are empty."""
    around: list[Span] = []
    at = 0
    for span in track:
        while around and around[-1].ended <= span.began:
            yield Piece(around[-1], at, around[-1].ended)
            at = around.pop().ended
        if around:
            yield Piece(around[-1], at, span.began)
        around.append(span)
        at = span.began
    while around:
        yield Piece(around[-1], at, around[-1].ended)
        at = around.pop().ended


class Pieces:
    """Pieces in order, found by time: of one track, none overlaps another."""

    def __init__(self, pieces: Iterable[Piece]) -> None:
        self._tracks: dict[int, list[Piece]] = {}
        for piece in pieces:
            self._tracks.setdefault(piece.span.track, []).append(piece)

    def within(self, began: int, ended: int) -> list[Piece]:
        """What lies between two moments, cut there; track by track."""
        found = []
        for track in self._tracks.values():
            first = bisect_right(track, began, key=lambda piece: piece.ended)
            end = bisect_left(track, ended, key=lambda piece: piece.began)
            found += [Piece(piece.span, max(piece.began, began), min(piece.ended, ended)) for piece in track[first:end]]
        return found


def account(pieces: Iterable[Piece], began: int, ended: int, order: Sequence[Kind]) -> Account:
    """Each moment from `began` to `ended` for the first kind in `order` that has a piece there, else for the last."""
    moments: list[tuple[int, int, Kind]] = []
    own = dict.fromkeys(order, 0)
    for piece in pieces:
        kind = piece.span.kind
        if kind in own:
            own[kind] += piece.ended - piece.began
            moments += [(piece.began, 1, kind), (piece.ended, -1, kind)]
    moments.sort()
    wall = dict.fromkeys(order, 0)
    running = dict.fromkeys(order, 0)
    at = began
    for moment, change, kind in moments:
        if moment > at:
            wall[next((each for each in order if running[each]), order[-1])] += moment - at
            at = moment
        running[kind] += change
    wall[order[-1]] += ended - at
    beside = {kind: max(0, own[kind] - wall[kind]) for kind in order if kind not in QUIET}
    return Account(ended - began, _filled(wall), _filled(beside))


@dataclass(frozen=True)
class Ran:
    """What one forward ran for one call."""

    question: int  # track
    tokens: int
    proposals: int  # of the tokens: verified, not known to be right
    at: int  # tokens that the call had written before


def ran_by(forward: Span) -> list[Ran]:
    """Its calls, in order. Raises `FlareError` where a file was changed."""
    try:
        return [Ran(**{name: int(count) for name, count in call.items()}) for call in forward.about["calls"]]
    except (KeyError, TypeError, ValueError, AttributeError):
        raise FlareError(f"The forward at {forward.began / 1e9:.6f} s of the profile is damaged.") from None


def asked_for_by(profile: Profile) -> dict[int, frozenset[int]]:
    """By id of a forward's span: the questions that it ran tokens for, or for what is read beside them."""
    return {
        id(span): frozenset(profile.question_of(ran.question) for ran in ran_by(span))
        for span in profile.spans
        if span.kind in FORWARDS
    }


def mine_alone(span: Span, question: int, profile: Profile) -> bool:
    """Whether it works for this question; what is read ahead of it only goes beside."""
    return span.question == question or (profile.at_once(span.track) and profile.question_of(span.track) == question)


def _of_question(
    pieces: Iterable[Piece], question: Span, profile: Profile, by: Mapping[int, frozenset[int]]
) -> list[Piece]:
    kept = []
    for piece in pieces:
        span = piece.span
        if span.kind in FORWARDS:
            mine = question.track in by[id(span)]
            other = Span(Kind.OTHERS, span.name, span.track, 0, span.began, span.ended)
            kept.append(piece if mine else Piece(other, piece.began, piece.ended))
        elif mine_alone(span, question.track, profile) or (span.kind in ENGINE and not span.question):
            kept.append(piece)
    return kept


def _filled(counts: dict[Kind, int]) -> dict[Kind, int]:
    return {kind: count for kind, count in counts.items() if count}
