"""`flare-local demo`: the embedded town. Three questions step by step, or all sixty by every method."""

import hashlib
import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from flare_local.cli.console import err, out
from flare_local.cli.opening import check_warm
from flare_local.cli.profiling import with_profile
from flare_local.cli.start import import_engine, index_beside
from flare_local.embedded import EMBEDDED, embedded_exemplars, embedded_index, embedded_model
from flare_local.embedded.index import PASSAGES
from flare_local.embedded.questions import GROUPS, QUESTIONS, SHOWN, final_answer, is_right, read_questions
from flare_local.engine.cache_folder import cache_folder
from flare_local.engine.counters import Counters
from flare_local.errors import UsageError
from flare_local.policies.rules import Rules
from flare_local.tasks.exemplars import read_exemplars

if TYPE_CHECKING:
    from flare_local.embedded.measure import Outcome, Row
    from flare_local.engine.engine import Engine
    from flare_local.retrieval.bm25s import Bm25sIndex
    from flare_local.retrieval.lucene import LuceneIndex


@with_profile
def demo(
    measure: Annotated[bool, typer.Option("--measure", help="All 60 questions by five methods, as a table.")] = False,
    limit: Annotated[
        int | None,
        typer.Option("--limit", help="Only this many questions; with --measure, of each of the two groups."),
    ] = None,
    warm: Annotated[
        str | None, typer.Option("--warm", metavar="FILE", help="Snapshot that `flare-local warm` wrote.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """Show FLARE at work on embedded model, index and questions about an invented town.

    Model and index are fetched and built on the first run, into the cache folder.
    """
    if limit is not None and limit < 1:
        raise UsageError(f"--limit is {limit}.", "Give 1 or more.")
    if measure and warm is not None:
        raise UsageError("--measure begins every method with an empty pool.", "Leave out --warm.")
    if measure:
        _measure(limit, as_json)
    else:
        _show(limit, as_json, warm)


@contextmanager
def _opened(warm: str | None = None) -> "Iterator[tuple[Engine, LuceneIndex | Bm25sIndex]]":
    """Engine and index, ready, with a word on each on stderr."""
    model, folder = embedded_model(), embedded_index()
    began = time.perf_counter()
    from flare_local.retrieval.open import open_index

    with index_beside(lambda: open_index(folder), str(folder)) as beside:
        import_engine()
        from flare_local.engine.engine import Engine

        loaded = Engine.load(str(model), warm=warm)
    with loaded as engine, beside.result() as index:
        _say(f"Model and index opened in {time.perf_counter() - began:.1f} s ({model}, {folder})")
        yield engine, index


def _show(limit: int | None, as_json: bool, warm: str | None) -> None:
    from flare_local.api import flare_direct
    from flare_local.trace.json import answer_line
    from flare_local.trace.terminal import TraceView, counters_table

    questions = [question for question in read_questions() if limit is not None or question.id in SHOWN][:limit]
    exemplars, rules = read_exemplars(embedded_exemplars()), Rules(**EMBEDDED)
    total, right, began = Counters(), 0, 0.0
    with _opened(warm) as (engine, index):
        if warm is not None:
            check_warm(engine, warm, flare_direct.prefixes(engine, exemplars=exemplars, rules=rules))
        began = time.perf_counter()
        for question in questions:
            view = None if as_json else TraceView(out(), rules)
            if view is not None:
                view.begin(question.question)
            answer = flare_direct(engine, index, question.question, exemplars=exemplars, rules=rules, observe=view)
            right += is_right(answer.text, question)
            total.add(answer.counters)
            if view is None:
                print(answer_line(answer), flush=True)
            else:
                view.answer(answer)
                verdict = "right" if is_right(answer.text, question) else f"wrong: it is {question.answer}"
                out().print(f"{'':<11}{final_answer(answer.text) or 'no final answer'} ({verdict})\n")
    if not as_json:
        seconds = time.perf_counter() - began
        out().print(f"{len(questions)} questions, {right} right, {seconds:.1f} s. All answers together:")
        out().print(counters_table(total))


def _measure(limit: int | None, as_json: bool) -> None:
    from flare_local.embedded.measure import ARMS, GoldPassages, measure, rows
    from flare_local.engine.engine import Engine

    questions = read_questions()
    chosen = [q for group in GROUPS for q in [q for q in questions if q.group == group][:limit]]
    exemplars, rules = read_exemplars(embedded_exemplars()), Rules(**EMBEDDED)
    done = 0

    def tell(outcome: "Outcome") -> None:
        nonlocal done
        done += 1
        verdict = "right" if outcome.right else "wrong"
        _say(f"{outcome.question} {outcome.arm:<20} {outcome.seconds:5.1f} s  {verdict}  {outcome.final}")

    with _opened() as (engine, index):
        file = _outcomes_file(engine.model.fingerprint, rules)
        _say(f"{len(chosen)} questions by {len(ARMS)} methods; outcomes go to {file}, an interrupted run goes on there")
        gold = GoldPassages(questions, PASSAGES)
        outcomes = measure(lambda: Engine(engine.model), index, gold, chosen, exemplars, rules, file, tell)
    table = rows(outcomes)
    if as_json:
        print(
            json.dumps({"rows": [asdict(row) for row in table], "outcomes": str(file), "computed_now": done}, indent=2)
        )
    else:
        _print_tables(table)


def _outcomes_file(fingerprint: str, rules: Rules) -> Path:
    """One file for each combination of everything that can change an answer."""
    from flare_local.trace.versions import versions

    what = [file.read_text(encoding="utf-8") for file in (PASSAGES, QUESTIONS, embedded_exemplars())]
    what += [fingerprint, json.dumps(rules.as_dict(), sort_keys=True), json.dumps(versions(), sort_keys=True)]
    key = hashlib.sha256("\n".join(what).encode()).hexdigest()[:12]
    return cache_folder() / "embedded" / f"measured-{key}.jsonl"


def _print_tables(table: "Sequence[Row]") -> None:
    for group, title in GROUPS.items():
        shown = [row for row in table if row.group == group]
        out().print(f"{shown[0].questions} questions: {title}")
        view = Table(box=None, pad_edge=False)
        view.add_column("method", no_wrap=True)
        for heading in ("right", "accuracy (95 %)", "seconds", "run", "reused"):
            view.add_column(heading, justify="right", no_wrap=True)
        for row in shown:
            view.add_row(
                row.arm,
                f"{row.right}",
                f"{row.right / row.questions:.2f} ({row.low:.2f} to {row.high:.2f})",
                f"{row.seconds:.1f}",
                f"{row.run:.0f}",
                f"{row.reused:.0f}",
            )
        out().print(view)
        out().print()
    out().print("Means of an answer: seconds, tokens run through the model, tokens reused from the KV pool.")


def _say(line: str) -> None:
    err().print(line, soft_wrap=True)
