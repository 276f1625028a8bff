"""A step as a profile keeps it: what a picture of the answer shows."""

from flare_local.trace.events import Step, Writing

Record = dict[str, object]


def step_record(step: Step) -> Record:
    """JSON values only."""
    search = step.search
    return {
        "draft": None if step.draft is None else _writing(step.draft),
        "triggered": step.triggered,
        "accepted": step.accepted,
        "asked": [writing.text.strip() for writing in step.asked],
        "queries": [] if search is None else list(search.queries),
        "documents": [] if search is None else [document.title or document.id for document in search.documents],
        "sentence": _writing(step.sentence),
        "call": step.call is not None,
        "text": step.text,
    }


def _writing(writing: Writing) -> Record:
    generation = writing.generation
    known = [round(p, 4) if p == p else None for p in generation.probabilities]  # JSON has no NaN
    return {"tokens": list(generation.pieces), "probabilities": known, "stop": generation.stop.value}
