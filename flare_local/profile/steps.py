"""How an answer came about, read from its profile: each step with its calls, the tokens they wrote, its searches."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from flare_local.profile.account import mine_alone, ran_by
from flare_local.profile.reader import Profile
from flare_local.profile.summary import accepted_of
from flare_local.spans import FORWARDS, VERBS, Kind, Span


@dataclass(frozen=True)
class Token:
    """A token that a call wrote."""

    text: str
    probability: float | None
    proposed: bool  # it was proposed, and a forward that had to run found it right


@dataclass(frozen=True)
class Written:
    """What one call wrote."""

    tokens: tuple[Token, ...]
    stop: str


@dataclass(frozen=True)
class StepView:
    """One sentence of an answer."""

    number: int
    draft: Written | None
    triggered: bool
    accepted: bool  # the draft is the sentence
    asked: tuple[str, ...]
    queries: tuple[str, ...]
    documents: tuple[str, ...]  # titles, or ids
    sentence: Written


@dataclass(frozen=True)
class Verb:
    """A stretch of time in which a question waited for one thing."""

    role: str  # draft, sentence, asked, call or search
    span: Span
    step: int  # number; after the last step: one more


def steps_of(profile: Profile, question: Span) -> tuple[list[StepView], list[Verb]]:
    """The steps of a question that were done, and all its verbs."""
    mine = [span for span in profile.spans if span.kind in VERBS and mine_alone(span, question.track, profile)]
    mine = [span for span in mine if span.track == question.track or profile.at_once(span.track)]  # not Lucene's thread
    known = _proposed(profile, question)
    steps: list[StepView] = []
    verbs: list[Verb] = []
    notes = [event for event in profile.events if event.track == question.track and "step" in event.about]
    for number, note in enumerate(notes, 1):
        record = note.about["step"]
        done = [span for span in mine if span.began < note.began]
        mine = mine[len(done) :]
        calls = [span for span in done if span.kind is Kind.WAIT]
        roles = _roles(record, len(calls))
        verbs += [Verb(role, span, number) for role, span in zip(roles, calls, strict=True)]
        verbs += [Verb("search", span, number) for span in done if span.kind is Kind.SEARCH]
        by_role = dict(zip(roles, calls, strict=True))
        draft = record.get("draft")
        steps.append(
            StepView(
                number=number,
                draft=None if draft is None else _written(draft, by_role.get("draft"), known),
                triggered=bool(record.get("triggered")),
                accepted=bool(record.get("accepted")),
                asked=_texts(record.get("asked")),
                queries=_texts(record.get("queries")),
                documents=_texts(record.get("documents")),
                sentence=_written(record.get("sentence") or {}, by_role.get("sentence"), known),
            )
        )
    last = len(notes) + 1
    verbs += [Verb("search" if span.kind is Kind.SEARCH else "call", span, last) for span in mine]
    return steps, sorted(verbs, key=lambda verb: verb.span.began)


def _roles(record: dict[str, Any], calls: int) -> list[str]:
    """What the calls of a step were for, in order."""
    roles = []
    if record.get("draft") is not None:
        roles = ["draft"] + ([] if record.get("accepted") else ["asked"] * len(record.get("asked") or []))
    roles += [] if record.get("accepted") else ["sentence"]
    roles += ["call"] if record.get("call") else []
    return roles if len(roles) == calls else ["call"] * calls


def _written(record: dict[str, Any], call: Span | None, known: dict[int, set[int]]) -> Written:
    proposed = known.get(id(call), set()) if call is not None else set()
    pairs = zip(_texts(record.get("tokens")), record.get("probabilities") or [], strict=False)
    tokens = tuple(
        Token(text, float(p) if isinstance(p, int | float) else None, at in proposed)
        for at, (text, p) in enumerate(pairs)
    )
    return Written(tokens, str(record.get("stop", "")))


def _proposed(profile: Profile, question: Span) -> dict[int, set[int]]:
    """By id of a call's span: numbers of the tokens that were proposed and found right."""
    right = accepted_of(profile)
    calls = [span for span in profile.spans if span.track == question.track and span.kind is Kind.WAIT]
    found: dict[int, set[int]] = {}
    for forward in profile.spans:
        if forward.kind not in FORWARDS or not (question.began <= forward.began <= question.ended):
            continue
        for ran, count in zip(ran_by(forward), right.get(id(forward), []), strict=False):
            if ran.question == question.track and count:
                call = next((each for each in calls if each.began <= forward.began <= each.ended), None)
                found.setdefault(id(call), set()).update(range(ran.at, ran.at + count))
    return found


def _texts(values: Sequence[object] | None) -> tuple[str, ...]:
    return tuple(str(value) for value in values or ())
