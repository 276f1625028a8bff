"""The methods, step by step as the rules have them, over any model that generates and any function that searches."""

from collections.abc import Callable
from typing import Any

from tests.oracle.explicit import explicit_queries
from tests.oracle.instruct import instruct
from tests.oracle.margin import Margin
from tests.oracle.naive import Output
from tests.oracle.options import Options
from tests.oracle.previous import decomposition, previous_sentence, window
from tests.oracle.run import Run, Search
from tests.oracle.trace import Trace


def answer(
    lm: Any,
    search: Search,
    options: Options,
    question: str,
    lead: Trace | None = None,
    margin: Margin | None = None,
    asker: Any = None,
) -> Trace:
    """The answer of the reference program and how it came about. `asker` writes the questions of explicit queries."""
    return METHODS[options.method](Run(lm, search, options, question, lead, margin, asker))


def plain(run: Run) -> Trace:
    """No retrieval, or one search with the question."""
    passages = run.search(run.question) if run.options.method == "single_time" else []
    while True:
        if stop := run.exhausted():
            return run.finish(stop)
        sentence = run.generate(passages, min(run.options.look_ahead, run.left()))
        run.step(False)
        if stop := run.accept(sentence):
            return run.finish(stop)


def flare(run: Run) -> Trace:
    """Both schedules, and the ablation that always searches with the whole draft."""
    return paper(run) if run.options.schedule == "paper" else released(run)


def queries_of(run: Run, draft: Output) -> list[str]:
    """What a draft that triggered searches for."""
    paper = run.options.schedule == "paper"
    if run.options.method == "next_sentence":
        query = draft.text.strip()
    elif run.options.query == "explicit":
        return explicit_queries(run, draft)
    else:
        query = run.masked(draft) or (draft.text.strip() if paper else "")
    return [run.truncated(query)] if query else []


def paper(run: Run) -> Trace:
    options = run.options
    first = run.first_search()
    theta = 1 if options.method == "next_sentence" else options.theta
    while True:
        if stop := run.exhausted():
            return run.finish(stop)
        limit = min(options.look_ahead, run.left())
        is_first = not run.trace["steps"]
        draft = run.generate(first if is_first else [], limit)
        if not draft.tokens:
            run.step(False)
            return run.finish(draft.stop)
        judged = not (is_first and options.first_sentence == "accept") and draft.text.strip() != ""
        triggered = judged and (theta == 1 or (theta > 0 and run.triggers(draft.probabilities)))
        sentence = draft
        queries = queries_of(run, draft) if triggered else []
        if triggered:
            found = run.search(*queries) if queries else []
            sentence = run.generate(found, limit)
        run.step(triggered, queries)
        if stop := run.accept(sentence):
            return run.finish(stop)


def released(run: Run) -> Trace:
    options = run.options
    passages = run.first_search()
    theta = 0 if options.method == "next_sentence" else options.theta
    while True:
        if stop := run.exhausted():
            return run.finish(stop)
        draft = run.generate(passages, options.look_ahead)
        probabilities = list(draft.probabilities)
        if draft.eos_probability is not None:
            probabilities.append(draft.eos_probability)
        judged = options.first_sentence == "judge" or bool(run.trace["steps"])
        triggered = judged and (theta == 0 or run.triggers(probabilities))
        queries = queries_of(run, draft) if triggered else []
        if queries:
            passages = run.search(*queries)
        run.step(triggered, queries)
        sentence = run.generate(passages, max(run.least, min(options.look_ahead, run.left())))
        if stop := run.accept(sentence):
            return run.finish(stop)


METHODS: dict[str, Callable[[Run], Trace]] = {
    "no_retrieval": plain,
    "single_time": plain,
    "previous_window": window,
    "previous_sentence": previous_sentence,
    "next_sentence": flare,
    "question_decomposition": decomposition,
    "flare_direct": flare,
    "flare_instruct": instruct,
}
