"""FLARE instruct: the model writes search calls, which are answered and taken out."""

from tests.oracle.run import Run
from tests.oracle.trace import Trace
from tests.oracle.unit import WHOLE, Unit

OPEN, CLOSE = "[Search(", ")]"
BANNED = 5  # tokens after a search that may not begin with a bracket


def brackets(run: Run) -> list[int]:
    """The tokens that are made more probable, and banned after a search."""
    every = run.lm.text_of.beginning("[")
    kind = run.options.brackets
    if kind == "all" or (kind == "schedule" and run.options.schedule == "paper"):
        return every
    for wanted in (" [", "["):
        for token in every:
            if run.lm.text_of.text([token]) == wanted:
                return [token]
    return []


def instruct(run: Run) -> Trace:
    tokens = brackets(run)
    boost = {token: run.options.search_bias for token in tokens}
    passages = run.first_search()
    while True:
        if stop := run.exhausted():
            return run.finish(stop)
        limit = max(run.least, run.left())
        piece = run.generate(passages, limit, run.sentences, marks=(OPEN,), bias=boost)
        run.step(False)
        if piece.stop != "mark":
            if stop := run.accept(piece):
                return run.finish(stop)
            continue
        at = piece.text.index(OPEN)
        room = len(piece.text[:at].rstrip())
        kept = 0
        while kept < len(piece.pieces) and len("".join(piece.pieces[: kept + 1])) <= room:
            kept += 1
        rest, closed, stop = piece.text[at + len(OPEN) :], True, None
        if CLOSE not in rest:
            call = run.generate(passages, run.options.look_ahead, WHOLE, piece.tokens, (CLOSE,), boost)
            rest, closed = rest + call.text, call.stop == "mark"
            stop = call.stop if call.stop in ("eos", "stop") else None
        run.take(piece.tokens[:kept], "".join(piece.pieces[:kept]))
        stop = stop or (None if closed else run.ended_after()) or run.exhausted()
        if stop:
            return run.finish(stop)
        query = run.truncated(rest[: rest.index(CLOSE)].strip()) if closed else ""
        if query:
            passages = run.search(query)
        stop = _without_brackets(run, passages, frozenset(tokens), [query] if query else [])
        if stop:
            return run.finish(stop)


def _without_brackets(run: Run, passages: list, banned: frozenset[int], queries: list[str]) -> str | None:
    """The few tokens after a search; the reason where the answer ends with them."""
    counted = run.options.schedule == "paper"
    unit = run.generate(passages, min(BANNED, run.left()) if counted else BANNED, Unit("tokens", BANNED), banned=banned)
    run.step(True, queries)
    if counted or not unit.tokens:
        return run.accept(unit)
    run.take(unit.tokens, unit.text)
    run.uncounted += len(unit.tokens)
    return run.ended_after()
