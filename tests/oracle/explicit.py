"""Explicit queries: questions that improbable spans of a draft would answer, asked of the same model."""

import itertools
import string
from collections.abc import Sequence

from tests.oracle.budget import LeftOut
from tests.oracle.naive import Output
from tests.oracle.prompt import Shots, fill
from tests.oracle.run import Run
from tests.oracle.unit import WHOLE

Prompt = tuple[list[int], LeftOut | None]

NEAR = 5  # released program: improbable tokens closer than this are one span


def explicit_queries(run: Run, draft: Output) -> list[str]:
    """The queries of a draft that triggered; none where nothing is to be searched."""
    paper = run.options.schedule == "paper"
    whole = [run.truncated(draft.text.strip())] if draft.text.strip() else []
    low = _low_tokens(run, draft)
    phrases = _phrases(draft, low) if paper else _terms(run, draft, _spans(draft, low))
    if not phrases:
        return whole
    replies = [_reply(run, *prompt) for prompt in _question_prompts(run, draft, phrases)]
    questions = [reply for reply in replies if (reply if paper else reply.endswith("?"))]
    if not questions:
        return whole if paper else []
    return [run.truncated(question) for question in dict.fromkeys(questions)]


def runs(low: Sequence[bool]) -> list[tuple[int, int]]:
    """Maximal runs of improbable tokens: first, and the one behind the last."""
    grouped = itertools.groupby(range(len(low)), key=lambda i: low[i])
    found = [list(group) for is_low, group in grouped if is_low]
    return [(group[0], group[-1] + 1) for group in found]


def spans(low: Sequence[bool]) -> list[tuple[int, int]]:
    """Runs that are joined where a token lies less than `NEAR` behind the improbable one before it."""
    found: list[tuple[int, int]] = []
    last = -NEAR
    for i in (i for i, is_low in enumerate(low) if is_low):
        if i - last < NEAR and found:
            found[-1] = (found[-1][0], i + 1)
        else:
            found.append((i, i + 1))
        last = i
    return found


def _spans(draft: Output, low: Sequence[bool]) -> list[tuple[int, int]]:
    """The spans that have a text."""
    return [(first, end) for first, end in spans(low) if _text(draft, first, end)]


def _text(draft: Output, first: int, end: int) -> str:
    return "".join(draft.pieces[first:end]).strip()


def _phrases(draft: Output, low: Sequence[bool]) -> list[str]:
    """The texts of the runs that have a letter or a digit."""
    texts = [_text(draft, first, end) for first, end in runs(low)]
    return [text for text in texts if any(c.isalnum() for c in text)]


def _line(text: str) -> str:
    return " ".join(text.split())


def _question_prompts(run: Run, draft: Output, phrases: Sequence[str]) -> list[Prompt]:
    passage = "".join(run.texts) + draft.text
    if run.options.schedule == "paper":
        passage = f"{run.question} {passage}"
    cases = [fill(run.options.asking.case, question=_line(passage), hint=_line(z)) for z in phrases]
    return [_prompt(run, run.options.asking, case) for case in cases]


def _terms(run: Run, draft: Output, found: Sequence[tuple[int, int]]) -> list[str]:
    """The model's own terms where the spans begin, as far as they are terms of the sentence."""
    terms = []
    for (first, end), prompt in zip(found, _term_prompts(run, draft, found), strict=True):
        term = _reply(run, *prompt)
        lone_mark = len(term) == 1 and term in string.punctuation
        if term.startswith(_text(draft, first, end)) and term in draft.text and not lone_mark:
            terms.append(term)
    return terms


def _term_prompts(run: Run, draft: Output, found: Sequence[tuple[int, int]]) -> list[Prompt]:
    prompts = []
    for first, _ in found:
        before, after = "".join(draft.pieces[:first]), "".join(draft.pieces[first:])
        blanks = len(after) - len(after.lstrip())
        sentence = _line(before + after[:blanks] + "*" + after[blanks:])
        prompts.append(_prompt(run, run.options.term, fill(run.options.term.case, question=sentence)))
    return prompts


def _prompt(run: Run, shots: Shots, case: str) -> Prompt:
    return run.beside.prompt(shots, [], run.beside.ids(case), 0, run.options.look_ahead)


def _reply(run: Run, prompt: list[int], left_out: LeftOut | None) -> str:
    text = run.beside.call(prompt, run.options.look_ahead, WHOLE, ("\n",), left_out=left_out).text.strip()
    return text.split("\n")[0].strip() if text else ""


def _low_tokens(run: Run, draft: Output) -> list[bool]:
    """Which tokens are improbable; next to beta as the engine has them, told by the prompt that it asked next."""
    beta, strict = run.options.beta, run.options.schedule == "paper"
    low = [p < beta if strict else p <= beta for p in draft.probabilities]
    near = [i for i, p in enumerate(draft.probabilities) if run.margin.near(p, beta)]
    theirs = run.led_call(len(run.trace["calls"]))
    if not near or theirs is None or "prompt" not in theirs:
        return low
    for flips in itertools.product([False, True], repeat=len(near)):
        other = list(low)
        for i, flip in zip(near, flips, strict=True):
            other[i] ^= flip
        if _first_prompt(run, draft, other) == theirs["prompt"]:
            if other != low:
                run.margin.follow("span, a probability next to beta")
            return other
    return low


def _first_prompt(run: Run, draft: Output, low: list[bool]) -> list[int] | None:
    """What would be asked first."""
    if run.options.schedule == "paper":
        phrases = _phrases(draft, low)
        return _question_prompts(run, draft, phrases[:1])[0][0] if phrases else None
    prompts = _term_prompts(run, draft, _spans(draft, low)[:1])
    return prompts[0][0] if prompts else None
