"""One step on the page: the draft with its improbable words, what was searched, and the sentence that came of it."""

from collections.abc import Iterator
from dataclasses import replace

from flare_local.profile.markup import escaped
from flare_local.profile.steps import StepView, Token, Written


def card(step: StepView, theta: float, beta: float) -> str:
    """A definition list. Probabilities below `theta` are yellow, the deeper the lower; below `beta` red."""
    return f'<dl class="step">{"".join(_rows(step, theta, beta))}</dl>'


def legend(theta: float, beta: float) -> str:
    """What the colours of words mean."""
    return (
        f'Words under theta {theta:g} <span class="low" style="--much:60%">like this</span>, under beta {beta:g} '
        '<span class="lower">like this</span>. <span class="right">Underlined</span>: proposed, and found right by a '
        "forward that had to run."
    )


def _rows(step: StepView, theta: float, beta: float) -> Iterator[str]:
    yield f'<dt class="head">Step {step.number}{_tag(step)}</dt>'
    if step.draft is not None:
        yield _row("draft", _words(step.draft, theta, beta))
    for question in step.asked:
        yield _row("asked", escaped(question))
    for query in step.queries:
        yield _row("query", f'<span class="query">{escaped(query)}</span>')
    if step.queries:
        found = "".join(f"<div>[{rank}] {escaped(name)}</div>" for rank, name in enumerate(step.documents, 1))
        yield _row("found", found or '<span class="quiet">nothing</span>')
    if not step.accepted:
        yield _row("sentence", _words(step.sentence, 0.0, 0.0))


def _tag(step: StepView) -> str:
    if step.accepted:
        return '<span class="tag kept">draft kept</span>'
    if step.queries:
        return '<span class="tag search">searched</span>'
    return '<span class="tag other">triggered, nothing to search</span>' if step.triggered else ""


def _row(name: str, content: str) -> str:
    return f"<dt>{name}</dt><dd>{content}</dd>"


def _words(written: Written, theta: float, beta: float) -> str:
    if not written.tokens:
        return f'<span class="quiet">nothing ({escaped(written.stop)})</span>'
    first = replace(written.tokens[0], text=written.tokens[0].text.lstrip(" "))
    words = [_word(token, theta, beta) for token in (first, *written.tokens[1:])]
    return f'<span class="words">{"".join(words)}</span>'


def _word(token: Token, theta: float, beta: float) -> str:
    p = token.probability
    classes = ["right"] if token.proposed else []
    much = ""
    if p is not None and p < beta:
        classes.append("lower")
    elif p is not None and p < theta:
        classes.append("low")
        much = f' style="--much:{30 + 60 * (theta - p) / max(theta - beta, 0.01):.0f}%"'
    tip = "" if p is None else f' title="p = {p:.3f}{", proposed and right" if token.proposed else ""}"'
    shown = f' class="{" ".join(classes)}"' if classes else ""
    return f"<span{shown}{much}{tip}>{escaped(token.text)}</span>"
