"""The trace of an answer, as plain dictionaries: what the oracle writes, certifies and compares.

question   the text asked
answer     joined sentences, stripped
stop       eos, stop, length, max_sentences or end_after
calls      one an LM call, in order:
               prompt          ids (a product's trace may leave them out; then they are recomputed, not compared)
               limit           most tokens before the cut
               tokens, probabilities, text, stop (boundary, eos, stop, mark or length), eos_probability
               cut             examples, passages and words left out of the prompt; None for a whole one
searches   one a query, in order: query, documents (ids of what its search found, best first; several queries of one
               search share them)
steps      one a sentence: triggered, queries (none where nothing was searched for this step)
"""

from collections.abc import Mapping, Sequence
from typing import Any

Trace = dict[str, Any]


def call_entry(prompt: Sequence[int], limit: int, output: Any, cut: Sequence[int] | None) -> dict[str, Any]:
    """`output`: anything with tokens, probabilities, text, stop and eos_probability."""
    return {
        "prompt": list(prompt),
        "limit": limit,
        "tokens": list(output.tokens),
        "probabilities": list(output.probabilities),
        "text": output.text,
        "stop": str(output.stop),
        "eos_probability": output.eos_probability,
        "cut": cut,
    }


def from_json(answer: Mapping[str, Any]) -> Trace:
    """The object of `ask --json --trace` (docs/json.md) in this format."""
    first = [answer["search"]] if answer["search"] else []
    later = [step for step in answer["steps"] if step["queries"]]
    kept = ("prompt", "limit", "probabilities", "text", "stop", "eos_probability")
    return {
        "question": answer["question"],
        "answer": answer["answer"],
        "stop": answer["stop_reason"],
        "calls": [
            {"tokens": call["ids"], "cut": call["cut"] and tuple(call["cut"].values()), **{k: call[k] for k in kept}}
            for call in answer["calls"]
        ],
        "searches": [
            {"query": query, "documents": [document["id"] for document in search["documents"]]}
            for search in [*first, *later]
            for query in search["queries"]
        ],
        "steps": [{"triggered": step["triggered"], "queries": step["queries"]} for step in answer["steps"]],
    }


def differences(one: Mapping[str, Any], other: Mapping[str, Any], tolerance: float) -> list[str]:
    """Where two traces disagree, in words; probabilities may be `tolerance` apart."""
    found = []
    for part in ("calls", "searches", "steps"):
        if len(one[part]) != len(other[part]):
            found.append(f"{part}: {len(one[part])} against {len(other[part])}")
        for i, (a, b) in enumerate(zip(one[part], other[part], strict=False)):
            found += [f"{part}[{i}].{key}: {a[key]!r} against {b[key]!r}" for key in unequal(a, b, tolerance)]
    return found + [
        f"{key}: {one[key]!r} against {other[key]!r}" for key in ("answer", "stop") if one[key] != other[key]
    ]


def unequal(one: Mapping[str, Any], other: Mapping[str, Any], tolerance: float) -> list[str]:
    """Keys of `one` whose values differ in `other`; a key that either lacks is not compared."""
    return [key for key in one if key in other and not _same(one[key], other[key], tolerance)]


def _same(one: Any, other: Any, tolerance: float) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return abs(one - other) <= tolerance
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(_same(a, b, tolerance) for a, b in zip(one, other, strict=True))
    return bool(one == other)
