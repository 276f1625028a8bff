"""The methods that search with what is written already: windows, sentences, follow-up questions."""

from collections.abc import Callable

from tests.oracle.naive import Output
from tests.oracle.run import Run
from tests.oracle.trace import Trace
from tests.oracle.unit import Unit

ANSWER_MARK, QUESTION_MARK = "Intermediate answer:", "Follow up:"


def window(run: Run) -> Trace:
    """A search every few tokens."""
    size, width = run.options.window, run.options.window_query
    question = run.case if run.options.schedule == "released" else []

    def query(_: Output) -> str:
        ids = [*question, *run.answer]
        return run.lm.text_of.text(ids if width is None else ids[-width:]).strip()

    return _look_back(run, Unit("tokens", size), size, query)


def previous_sentence(run: Run) -> Trace:
    """A search with each sentence that was written."""
    return _look_back(run, run.options.unit, run.options.look_ahead, lambda last: run.truncated(last.text.strip()))


def _look_back(run: Run, unit: Unit, most: int, query_of: Callable[[Output], str]) -> Trace:
    passages = run.first_search()
    queries: list[str] = []
    while True:
        if stop := run.exhausted():
            return run.finish(stop)
        now = run.rest(unit)
        longest = most if now == unit else run.options.look_ahead
        written = run.generate(passages, max(run.least, min(longest, run.left())), now)
        run.step(bool(run.trace["steps"]), queries)
        stop = run.accept(written) or run.exhausted()
        if stop:
            return run.finish(stop)
        query = query_of(written)
        queries = [query] if query else []
        if query:
            passages = run.search(query)
        elif run.options.schedule == "paper":
            passages = []


def decomposition(run: Run) -> Trace:
    """Self-ask: a search with each follow-up question that the model writes."""
    passages = run.first_search(wanted=run.options.schedule == "paper")
    segment, due, queries = "", False, []
    while True:
        if stop := run.exhausted():
            return run.finish(stop)
        piece = run.generate(passages, max(run.least, run.left()), run.sentences, marks=(ANSWER_MARK,))
        run.step(due, queries)
        stop = run.accept(piece) or run.exhausted()
        if stop:
            return run.finish(stop)
        segment += piece.text
        due, queries = piece.stop == "mark", []
        if due:
            before = segment[: segment.rindex(ANSWER_MARK)]
            at = before.rfind(QUESTION_MARK)
            question = before[at + len(QUESTION_MARK) :].strip() if at >= 0 else ""
            segment = ""
            if question:
                queries = [run.truncated(question)]
                passages = run.search(*queries)
