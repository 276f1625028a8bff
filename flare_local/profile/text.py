"""A profile's numbers as lines for a terminal or a pipe."""

from collections.abc import Iterator

from flare_local.profile.account import Account
from flare_local.profile.names import GROUPS, LABELS
from flare_local.profile.summary import Part, QuestionSummary, Summary
from flare_local.trace.safe_text import safe_line

NAME, NUMBER = 32, 9  # columns
LEAST = 500_000  # ns that are shown of what ran beside
QUESTIONS = 20  # that are listed; the slowest, where there are more


def lines_of(summary: Summary) -> Iterator[str]:
    """The account of the run, its start, its questions, what took longest."""
    yield f"{safe_line(summary.command)}: {_seconds(summary.account.length)} s, {summary.ended}"
    yield ""
    yield from _account(summary.account)
    if summary.answering is not None:
        yield ""
        yield (
            f"From the first question to the last answer {_seconds(summary.answering.length)} s, of which outside "
            f"forwards and search {summary.answering.outside:.1%}."
        )
        yield ""
        yield from _questions(summary.questions)
    yield ""
    yield "start, side by side"
    yield f"{'from':>{NUMBER}}{'to':>{NUMBER}}  {'thread':<14}what (seconds)"
    for part in summary.start:
        ends = f"{part.at_ms / 1000:{NUMBER}.3f}{(part.at_ms + part.ms) / 1000:{NUMBER}.3f}"
        yield f"{ends}  {part.thread:<14}{part.what}"
    yield ""
    yield "slowest (own time)"
    for part in summary.slowest:
        yield f"{part.ms:{NUMBER}.1f} ms  at {part.at_ms / 1000:.3f} s  {part.what}{_whose(part)}"


def _account(account: Account) -> Iterator[str]:
    yield f"{'':<{NAME}}{'seconds':>{NUMBER}}{'%':>{NUMBER}}{'beside':>{NUMBER}}"
    for name, kinds in GROUPS.items():
        present = [kind for kind in kinds if kind in account.wall or kind in account.beside]
        if not present:
            continue
        beside = sum(account.beside.get(kind, 0) for kind in present)
        yield _line(name, account.group(name), account.length, beside)
        if len(kinds) > 1:
            for kind in present:
                yield _line(f"  {LABELS[kind]}", account.wall.get(kind, 0), account.length, account.beside.get(kind, 0))
    yield _line("all", sum(account.wall.values()), account.length, 0)


def _line(name: str, count: int, length: int, beside: int) -> str:
    share = f"{count / length:.1%}" if length else ""
    hidden = f"{_seconds(beside):>{NUMBER}}" if beside >= LEAST else ""
    return f"{name:<{NAME}}{_seconds(count):>{NUMBER}}{share:>{NUMBER}}{hidden}"


def _questions(questions: list[QuestionSummary]) -> Iterator[str]:
    shown = sorted(questions, key=lambda each: each.account.length, reverse=True)[:QUESTIONS]
    of = f", the slowest {QUESTIONS} of {len(questions)}" if len(questions) > QUESTIONS else ""
    yield f"questions{of}"
    heads = ("seconds", "forward", "search", "host", "waiting", "calls", "searches", "run", "right")
    yield f"{'':>5}" + "".join(f"{head:>{NUMBER}}" for head in heads) + "  question"
    for each in sorted(shown, key=lambda each: each.number):
        account = each.account
        times = (account.length, *(account.group(name) for name in ("forwards", "search", "host work", "waiting")))
        right = f"{each.accepted}/{each.proposals}"
        counts = (str(each.calls), str(each.searches), str(each.tokens), right)
        row = "".join(f"{cell:>{NUMBER}}" for cell in (*map(_seconds, times), *counts))
        yield f"{each.number:>5}{row}  {safe_line(each.question)}"
    yield f"{'':>5}(run: tokens run; right: proposals that were accepted, of those verified)"


def _whose(part: Part) -> str:
    tokens = "" if part.tokens is None else f", {part.tokens} tokens"
    return tokens + ("" if part.question is None else f", question {part.question}")


def _seconds(nanoseconds: int) -> str:
    return f"{nanoseconds / 1e9:.3f}"
