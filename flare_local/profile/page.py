"""The page of a profile: one file, without scripts and without anything that is fetched.

Texts of models, documents and questions go through `escaped`; should one ever get past it, a policy in the page's head
forbids all but its own style.
"""

from collections.abc import Iterator, Mapping, Sequence

from flare_local.profile.account import Account, Piece, Pieces, asked_for_by, own_times, pieces_of, ran_by
from flare_local.profile.markup import escaped
from flare_local.profile.names import GROUPS, LABELS
from flare_local.profile.reader import Profile
from flare_local.profile.step_card import card, legend
from flare_local.profile.steps import StepView, Verb, steps_of
from flare_local.profile.style import COLOURS, CSS
from flare_local.profile.summary import QuestionSummary, Summary, accepted_of, what_of
from flare_local.profile.timeline import Block, Lane, blocks_of, drawing, duration, merged
from flare_local.spans import FORWARDS, VERBS, Kind, Span

MOST = 20  # questions that are drawn; the slowest, where there are more
LEAST = 0.001  # of the time, that a legend names
DETAIL = 4000  # a lane draws gaps longer than a 4,000th of its length
ROLES = {
    "draft": ("draft", "#5a7fd6"),
    "sentence": ("sentence", "#17a589"),
    "asked": ("asked", "#8b79d9"),
    "call": ("call", "#6b7686"),
    "search": ("search", COLOURS[Kind.SEARCH]),
}
POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def page_of(profile: Profile, summary: Summary) -> str:
    """The page as HTML."""
    title = f"{summary.command}: {summary.account.length / 1e9:.2f} s"
    return "".join(
        [
            '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escaped(title)}</title><style>{CSS}</style></head><body><main>",
            f"<h1>{escaped(title)}</h1>",
            f'<p class="quiet">{escaped(_state(summary))}</p>',
            *_run(profile, summary),
            *_questions(profile, summary),
            "</main></body></html>\n",
        ]
    )


def _state(summary: Summary) -> str:
    said = f"Ended: {summary.ended}."
    if summary.answering is not None:
        count, seconds = len(summary.questions), summary.answering.length / 1e9
        said += f" {count} question{'s' * (count != 1)} in {seconds:.2f} s"
        said += f", of which {summary.answering.outside:.1%} outside forwards and search."
    return said


def _run(profile: Profile, summary: Summary) -> Iterator[str]:
    yield "<section><h2>The whole run</h2>"
    yield from _bar(summary.account)
    starting = [span for span in profile.spans if span.kind in GROUPS["start"]]
    if starting:
        yield "<h3>Start, side by side</h3>"
        yield drawing(_start_lanes(profile, starting), profile.run.began, max(span.ended for span in starting))
    yield "</section>"


def _start_lanes(profile: Profile, starting: Sequence[Span]) -> list[Lane]:
    threads: dict[int, list[Block]] = {}
    for piece in own_times(starting):
        span = piece.span
        tip = f"{what_of(span)}, {duration(piece.ended - piece.began)}"
        threads.setdefault(span.track, []).append(
            Block(piece.began, piece.ended, COLOURS[span.kind], tip, LABELS[span.kind])
        )
    return [Lane(profile.tracks[track].name.removeprefix("flare-"), blocks) for track, blocks in threads.items()]


def _bar(account: Account) -> Iterator[str]:
    yield '<div class="bar">'
    present = [kind for kinds in GROUPS.values() for kind in kinds if account.wall.get(kind)]
    for kind in present:
        share = account.wall[kind] / max(1, account.length)
        tip = f"{LABELS[kind]}: {duration(account.wall[kind])}, {share:.1%}"
        yield f'<i style="flex:{share:.5f} 0 0;background:{COLOURS[kind]}" title="{escaped(tip)}"></i>'
    yield '</div><div class="legend">'
    small = 0
    for kind in sorted(present, key=lambda kind: account.wall[kind], reverse=True):
        if account.wall[kind] < LEAST * account.length:
            small += account.wall[kind]
            continue
        yield f'<span><b style="background:{COLOURS[kind]}"></b>{LABELS[kind]}'
        yield f"<span>{duration(account.wall[kind])}</span></span>"
    if small:
        yield f"<span>the rest<span>{duration(small)}</span></span>"
    yield "</div>"


def _questions(profile: Profile, summary: Summary) -> Iterator[str]:
    slowest = sorted(summary.questions, key=lambda each: each.account.length, reverse=True)[:MOST]
    if len(summary.questions) > 1:
        yield from _table(summary.questions)
    if len(summary.questions) > MOST:
        yield f'<p class="quiet">Below, the slowest {MOST} of {len(summary.questions)} questions.</p>'
    pieces, by = Pieces(pieces_of(profile)), asked_for_by(profile)
    for each in sorted(slowest, key=lambda each: each.number):
        yield from _question(profile, each, pieces, by)


def _table(questions: Sequence[QuestionSummary]) -> Iterator[str]:
    heads = ("question", "seconds", "forwards", "search", "host work", "waiting", "outside")
    yield "<section><h2>Questions</h2><h3>Seconds</h3><table><tr>"
    yield "".join(f"<th>{head}</th>" for head in heads) + "</tr>"
    for each in questions:
        groups = (each.account.group(name) / 1e9 for name in ("forwards", "search", "host work", "waiting"))
        cells = "".join(f"<td>{value:.3f}</td>" for value in (each.account.length / 1e9, *groups))
        yield f"<tr><td>{each.number}. {escaped(each.question)}</td>{cells}<td>{each.account.outside:.1%}</td></tr>"
    yield "</table></section>"


def _question(
    profile: Profile, summary: QuestionSummary, pieces: Pieces, by: Mapping[int, frozenset[int]]
) -> Iterator[str]:
    span = profile.questions[summary.number - 1]
    steps, verbs = steps_of(profile, span)
    about = span.about
    yield f"<section><h2>{summary.number}. {escaped(summary.question)}</h2>"
    if summary.answer is not None:
        yield f'<p class="good">{escaped(summary.answer)}</p>'
    theta, beta = (float(about.get(name, 0)) for name in ("theta", "beta"))
    method = escaped(f"{about.get('method', '')}, schedule {about.get('schedule', '')}")
    yield (
        f'<p class="quiet">{summary.account.length / 1e9:.2f} s. {method}, theta {theta:g}, beta {beta:g}. '
        f"{summary.calls} calls, {summary.forwards} forwards, {summary.tokens} tokens run; {summary.accepted} of "
        f"{summary.proposals} proposed tokens were right. {summary.searches} searches.</p>"
    )
    yield from _bar(summary.account)
    yield "<h3>Timeline</h3>"
    yield drawing(_lanes(profile, span, steps, verbs, pieces, by), span.began, span.ended)
    yield f'<h3>Steps</h3><p class="quiet">{legend(theta, beta)}</p>'
    yield f"{''.join(card(step, theta, beta) for step in steps)}</section>"


def _lanes(
    profile: Profile,
    question: Span,
    steps: Sequence[StepView],
    verbs: Sequence[Verb],
    pieces: Pieces,
    by: Mapping[int, frozenset[int]],
) -> list[Lane]:
    here = sorted(pieces.within(question.began, question.ended), key=lambda piece: piece.began)
    gap = (question.ended - question.began) // DETAIL
    mine = [piece for piece in here if piece.span.kind in FORWARDS and question.track in by[id(piece.span)]]
    known = {id(piece) for piece in mine}
    others = [
        Piece(Span(Kind.OTHERS, "", 0, 0, piece.began, piece.ended), piece.began, piece.ended)
        for piece in here
        if piece.span.kind in FORWARDS and id(piece) not in known
    ]
    host = [
        piece for piece in here if piece.span.kind in GROUPS["host work"] and piece.span.question in (0, question.track)
    ]
    beside = [piece for piece in here if piece.span.kind in VERBS and _beside(piece.span.track, question, profile)]
    forwards = sorted([*mine, *others], key=lambda piece: piece.began)
    lanes = [
        Lane("asked for", [_verb_block(verb, steps) for verb in verbs]),
        Lane("forwards", blocks_of(forwards, _said_of_proposals(profile, mine))),
    ]
    if beside:
        lanes.append(Lane("ahead", blocks_of(beside, {})))
    return [*lanes, Lane("host work", blocks_of(merged(host, gap), {}))]


def _beside(track: int, question: Span, profile: Profile) -> bool:
    return profile.tracks[track].of == question.track and not profile.at_once(track)


def _said_of_proposals(profile: Profile, forwards: Sequence[Piece]) -> dict[int, str]:
    right = accepted_of(profile)
    said = {}
    for span in (piece.span for piece in forwards):
        proposals = sum(ran.proposals for ran in ran_by(span))
        if proposals:
            said[id(span)] = f", {sum(right.get(id(span), []))} of {proposals} proposals right"
    return said


def _verb_block(verb: Verb, steps: Sequence[StepView]) -> Block:
    name, colour = ROLES[verb.role]
    if verb.role == "draft" and verb.step <= len(steps):
        step = steps[verb.step - 1]
        name = "draft: kept" if step.accepted else "draft: unsure" if step.triggered else name
    tip = f"step {verb.step}: {name}, {duration(verb.span.ended - verb.span.began)}"
    return Block(verb.span.began, verb.span.ended, colour, tip, name, least=3.0)
