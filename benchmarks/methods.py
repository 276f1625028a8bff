"""Every method on a few questions: the answers in full, and what each cost. Tables tell how they differ; this shows it.

python -m benchmarks.methods --out methods.jsonl --model M --dtype bfloat16 --preset 2wiki --index I --questions Q

The questions that a model wrote for explicit queries, and its search calls, are printed as they were written. All
methods share one engine, so later ones find the prompts of earlier ones in the pool: seconds are not to be compared.
"""

import time
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.questions import append, cpu, parser, questions, with_embedded
from flare_local.api import Ask
from flare_local.engine.engine import Engine
from flare_local.policies.exemplar_documents import with_documents
from flare_local.policies.methods import METHODS
from flare_local.policies.rules import SCHEDULES, QueryKind, Rules
from flare_local.retrieval.open import open_index
from flare_local.tasks.exemplars import Exemplars, read_exemplars
from flare_local.tasks.presets import PRESETS
from flare_local.trace.events import Answer

EXPLICIT = "flare_direct:explicit"


@dataclass(frozen=True)
class Row:
    """One method with its rules, under the name that the table has for it."""

    name: str
    ask: Ask
    rules: Rules


def main() -> None:
    options = parser(__doc__ or "")
    options.add_argument("--methods", nargs="+", default=[*METHODS, EXPLICIT, "combine"])
    options.add_argument("--schedule", default="paper", choices=list(SCHEDULES))
    options.add_argument("--preset", choices=list(PRESETS), help="exemplars and settings of a task")
    options.add_argument("--first", type=int, default=0, help="questions that are left out at the beginning")
    options.add_argument("--search-bias", type=float, default=Rules().search_bias)
    given = with_embedded(options.parse_args())
    rules = Rules(
        schedule=SCHEDULES[given.schedule],
        top_k=given.top_k,
        max_new_tokens=given.max_new_tokens,
        end_after=given.end_after,
        search_bias=given.search_bias,
    )
    index = open_index(given.index)
    exemplars = PRESETS[given.preset].exemplars if given.preset else read_exemplars(given.exemplars)
    asked = questions(given.questions, given.first + given.limit)[given.first :]
    print(cpu(), given.model, given.dtype, given.schedule, flush=True)
    with Engine.load(given.model, dtype=given.dtype) as engine:
        for row in (row_of(name, rules) for name in given.methods):
            words = row.ask.method.words(exemplars)
            if given.preset == "2wiki":
                words = with_documents(words, index, given.top_k, "benchmark")
            show_row(row, engine, index, words, asked, given.out)


def row_of(name: str, rules: Rules) -> Row:
    """The method of this name; two names stand for settings of FLARE direct."""
    if name == EXPLICIT:
        return Row(name, Ask(METHODS["flare_direct"]), replace(rules, query=QueryKind.EXPLICIT))
    if name == "combine":
        return Row(name, Ask(METHODS["flare_direct"]), replace(rules, combine=True))
    return Row(name, Ask(METHODS[name]), rules)


def show_row(row: Row, engine: Engine, index: Any, exemplars: Exemplars, asked: list[str], out: Path) -> None:
    """Asks every question, prints each answer as it comes, and last the row's sums."""
    sums: Counter[str] = Counter()
    for question in asked:
        began = time.perf_counter()
        answer = row.ask(engine, index, question, exemplars=exemplars, rules=row.rules)
        counts = counted(answer)
        sums.update(counts)
        print(f"\n[{row.name}] {question}\n  {answer.text.strip()!r} ({answer.stop_reason.value})", flush=True)
        for line in queries_written(answer):
            print(f"    {line}", flush=True)
        seconds = time.perf_counter() - began
        append(out, {"method": row.name, "schedule": row.rules.schedule.name, "question": question,
                     "answer": answer.text, "stop": answer.stop_reason.value, "seconds": seconds,
                     "queries": [list(search.queries) for search in answer.searches], **counts})  # fmt: skip
    each = {key: value / len(asked) for key, value in sums.items()}
    rate = sums["triggered"] / max(1, sums["steps"])
    print(
        f"== {row.name}: a question: {each['calls']:.1f} calls, {each['searches']:.1f} searches, {each['steps']:.1f} "
        f"steps, {rate:.0%} of them triggered, {each['run']:.0f} tokens run, {each['reused']:.0f} reused",
        flush=True,
    )


def counted(answer: Answer) -> dict[str, int]:
    """What an answer took."""
    return {
        "calls": answer.counters.calls,
        "searches": len(answer.searches),
        "steps": len(answer.steps),
        "triggered": sum(step.triggered for step in answer.steps),
        "run": answer.counters.run,
        "reused": answer.counters.reused,
        "forwards": answer.counters.forwards,
    }


def queries_written(answer: Answer) -> list[str]:
    """Every step that searched: its draft, what the model wrote for a query, the queries, the documents."""
    lines = []
    for step in answer.steps:
        if step.call is not None:
            lines.append(f"{step.number}. call: {step.sentence.text + step.call.text!r}")
        if step.search is not None:
            draft = f" draft {step.draft.text!r}" if step.draft is not None else ""
            lines.append(f"{step.number}.{draft} -> queries {list(step.search.queries)}")
            lines += [f"   {document.title}: {document.text[:70]!r}" for document in step.search.documents]
    return lines


if __name__ == "__main__":
    main()
