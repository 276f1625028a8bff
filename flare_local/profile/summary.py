"""A profile in numbers: the account of the run and of each question, its start, and what took longest."""

from collections import Counter
from dataclasses import asdict, dataclass
from itertools import repeat
from typing import Any

from flare_local.profile.account import (
    Account,
    Ran,
    answering_account,
    own_times,
    question_accounts,
    ran_by,
    run_account,
)
from flare_local.profile.names import GROUPS, LABELS, QUIET
from flare_local.profile.reader import Profile
from flare_local.spans import FORWARDS, VERBS, Kind, Span

SLOWEST = 10


@dataclass(frozen=True)
class Part:
    """One span."""

    at_ms: float  # since the run began
    ms: float  # its own time in "slowest", all of it in "start"
    kind: str
    what: str
    thread: str
    question: int | None  # number of the question that it worked for
    tokens: int | None  # of a forward


@dataclass(frozen=True)
class QuestionSummary:
    """One question."""

    number: int
    question: str
    answer: str | None  # None: it has none
    account: Account
    forwards: int  # that it took part in
    tokens: int  # that they ran for it
    proposals: int  # of these, tokens that were verified
    accepted: int  # of the proposals
    calls: int
    searches: int


@dataclass(frozen=True)
class Summary:
    """What `flare-local profile` tells."""

    command: str
    ended: str  # done, error, interrupted or killed
    account: Account
    answering: Account | None
    questions: list[QuestionSummary]
    start: list[Part]  # in order of beginning
    slowest: list[Part]

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "command": self.command,
            "ended": self.ended,
            "run": account_object(self.account),
            "answering": None if self.answering is None else account_object(self.answering),
            "questions": [
                {**asdict(question), "account": account_object(question.account)} for question in self.questions
            ],
            "start": [asdict(part) for part in self.start],
            "slowest": [asdict(part) for part in self.slowest],
        }


def summary_of(profile: Profile) -> Summary:
    """The whole of it."""
    numbers = {span.track: number for number, span in enumerate(profile.questions, 1)}

    def part(span: Span, length: int) -> Part:
        tokens = span.about.get("tokens") if span.kind in FORWARDS else None
        return Part(
            at_ms=span.began / 1e6,
            ms=length / 1e6,
            kind=span.kind.value,
            what=what_of(span),
            thread=profile.tracks[span.track].name if span.track in profile.tracks else "",
            question=next(iter(_numbers(span, profile, numbers)), None),
            tokens=tokens if isinstance(tokens, int) else None,
        )

    own: dict[int, int] = {}
    for piece in own_times(profile.spans):
        own[id(piece.span)] = own.get(id(piece.span), 0) + piece.ended - piece.began
    loud = [span for span in profile.spans if span.kind not in QUIET and id(span) in own]
    loud.sort(key=lambda span: own[id(span)], reverse=True)
    run = profile.run
    return Summary(
        command=run.name,
        ended=str(run.about.get("ended", "done")),
        account=run_account(profile),
        answering=answering_account(profile),
        questions=_questions(profile),
        start=[part(span, span.ended - span.began) for span in profile.spans if span.kind in GROUPS["start"]],
        slowest=[part(span, own[id(span)]) for span in loud[:SLOWEST]],
    )


def what_of(span: Span) -> str:
    """Its kind and its name, if it has one."""
    label = LABELS[span.kind]
    return label if span.name in ("", span.kind.value, label) else f"{label}: {span.name}"


def account_object(account: Account) -> dict[str, Any]:
    """Milliseconds: `kinds` add up to `wall_ms`, and so do `groups`."""
    return {
        "wall_ms": account.length / 1e6,
        "groups": {name: account.group(name) / 1e6 for name in GROUPS if account.group(name)},
        "kinds": {kind.value: count / 1e6 for kind, count in account.wall.items()},
        "beside": {kind.value: count / 1e6 for kind, count in account.beside.items()},
        "outside_forward_and_search": account.outside,
    }


def accepted_of(profile: Profile) -> dict[int, list[int]]:
    """By id of a forward's span: for each of its calls, how many proposals were right."""
    found: dict[int, list[int]] = {}
    last: dict[int, Span] = {}  # track -> its latest forward
    for span in profile.spans:
        if span.kind in FORWARDS:
            last[span.track] = span
        elif "accepted" in span.about and span.track in last:
            found[id(last[span.track])] = [int(count) for count in span.about["accepted"]]
    return found


def _questions(profile: Profile) -> list[QuestionSummary]:
    accepted = accepted_of(profile)
    ran: dict[
        int, list[tuple[Ran, int]]
    ] = {}  # question -> what forwards ran for it, with the proposals that were right
    forwards: Counter[int] = Counter()
    verbs: Counter[tuple[int, Kind]] = Counter()
    for span in profile.spans:
        if span.kind in FORWARDS:
            parts = list(zip(ran_by(span), accepted.get(id(span), repeat(0)), strict=False))
            for part in parts:
                ran.setdefault(profile.question_of(part[0].question), []).append(part)
            forwards.update({profile.question_of(part.question) for part, _ in parts})
        elif span.kind in VERBS:
            verbs[profile.question_of(span.track), span.kind] += 1
    made = []
    for number, (span, account) in enumerate(zip(profile.questions, question_accounts(profile), strict=True), 1):
        mine, answer = ran.get(span.track, []), span.about.get("answer")
        made.append(
            QuestionSummary(
                number=number,
                question=span.name,
                answer=answer if isinstance(answer, str) else None,
                account=account,
                forwards=forwards[span.track],
                tokens=sum(part.tokens for part, _ in mine),
                proposals=sum(part.proposals for part, _ in mine),
                accepted=sum(right for _, right in mine),
                calls=verbs[span.track, Kind.WAIT],
                searches=verbs[span.track, Kind.SEARCH],
            )
        )
    return made


def _numbers(span: Span, profile: Profile, numbers: dict[int, int]) -> list[int]:
    """Numbers of the questions that a span worked for."""
    tracks = [span.question, *(ran.question for ran in (ran_by(span) if span.kind in FORWARDS else ()))]
    return [numbers[question] for track in tracks if (question := profile.question_of(track)) in numbers]
