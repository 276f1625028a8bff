"""Answers questions with a real model and has every answer certified by the oracle, call by call.

python -m benchmarks.certify --out certified.jsonl --limit 20 --method flare_direct flare_instruct

Prints, for each method and schedule, how many calls, tokens and decisions were certified, and tokens run against the
floor. The oracle loads the weights again, with Transformers' own attention and no engine; a rejected answer ends the
run. `flare_direct:explicit` is FLARE direct with explicit queries.
"""

import time
from argparse import Namespace
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import torch
from transformers import AutoModelForCausalLM

from benchmarks.methods import EXPLICIT
from benchmarks.questions import append, cpu, parser, questions, with_embedded
from flare_local.api import Ask
from flare_local.engine.engine import Engine
from flare_local.policies.methods import METHODS
from flare_local.policies.rules import SCHEDULES
from flare_local.retrieval.open import open_index
from flare_local.tasks.exemplars import Exemplars, read_exemplars
from flare_local.trace.events import Answer
from tests.engine.exactness import ASKING, rules_of, shots_of, trace_of
from tests.oracle.certificate import Certificate, JudgingModel, certify
from tests.oracle.margin import Margin
from tests.oracle.options import Options
from tests.oracle.prompt import Passage


@dataclass(frozen=True)
class Twice:
    """One model as the engine runs it, and its weights loaded again for the oracle."""

    engine: Engine
    reference: Any
    full_every: int

    @property
    def tokenizer(self) -> Any:
        return self.engine.model.codec.tokenizer

    def judge(self) -> JudgingModel:
        """Judges the calls of one trace."""
        return JudgingModel(self.reference, self.tokenizer, self.full_every, self.engine.model.eos_ids)


def main() -> None:
    options = parser(__doc__ or "")
    names = [*METHODS, EXPLICIT]
    options.add_argument("--method", nargs="+", default=names, choices=names, metavar="NAME", help=", ".join(names))
    options.add_argument("--schedule", nargs="+", default=["paper", "released"], choices=list(SCHEDULES))
    options.add_argument("--question-model", help=f"another model that writes the questions of {EXPLICIT}")
    options.add_argument("--full-every", type=int, default=10, help="calls between two whole look-aheads")
    given = with_embedded(options.parse_args())
    exemplars = read_exemplars(given.exemplars)
    model = loaded_twice(given.model, given)
    asker = loaded_twice(given.question_model, given) if given.question_model else None
    index = open_index(given.index)
    print(cpu(), given.model, given.dtype, flush=True)
    for name in given.method:
        for schedule in given.schedule:
            certify_method(name, schedule, model, asker if name == EXPLICIT else None, index, exemplars, given)
    for each in [model] + [asker] * (asker is not None):
        each.engine.close()


def loaded_twice(name: str, given: Namespace) -> Twice:
    """The model called `name`, for the engine and for the oracle."""
    dtype = getattr(torch, given.dtype)
    reference = AutoModelForCausalLM.from_pretrained(name, dtype=dtype, attn_implementation="sdpa")
    return Twice(Engine.load(name, dtype=given.dtype), reference, given.full_every)


def certify_method(
    name: str, schedule: str, model: Twice, asker: Twice | None, index: Any, exemplars: Exemplars, given: Namespace
) -> None:
    """Answers and certifies every question by one method in one schedule, and prints the sums."""
    method = METHODS[name.partition(":")[0]]
    words = method.words(exemplars)
    options = options_of(method.name, name == EXPLICIT, schedule, words, given)
    options = replace(
        options,
        context=model.engine.model.context_length,
        asker_context=None if asker is None else asker.engine.model.context_length,
    )
    rules = rules_of(options)
    margin = Margin(exact=given.dtype == "float64")
    sums: Counter[str] = Counter()

    def search(query: str, k: int) -> list[Passage]:
        [found] = index.search_now([query], k)
        return [Passage(d.id, d.title, d.text) for d in found]

    for question in questions(given.questions, given.limit):
        began = time.perf_counter()
        questions_by = None if asker is None else asker.engine
        answer = Ask(method)(model.engine, index, question, exemplars=words, rules=rules, question_engine=questions_by)
        seconds = time.perf_counter() - began
        certificate = certify(
            model.reference,
            model.tokenizer,
            search,
            options,
            trace_of(answer),
            full_every=given.full_every,
            margin=margin,
            eos=model.engine.model.eos_ids,
            asker=None if asker is None else asker.judge(),
        )
        counts = counted(answer, certificate)
        sums.update(counts)
        append(given.out, {
            "method": name, "schedule": schedule, "question": question, "answer": answer.text, "seconds": seconds,
            "certify_seconds": time.perf_counter() - began - seconds, **counts,
        })  # fmt: skip
    share = (sums["run"] - sums["wasted"]) / max(1, sums["floor"])
    print(
        f"{name}, {schedule}: {sums['certified_calls']} calls ({sums['full']} in full), {sums['tokens']} tokens, "
        f"{margin.decisions} decisions certified, {len(margin.cases)} near ties; {sums['searches']} searches; "
        f"run {sums['run']}, wasted {sums['wasted']}, floor {sums['floor']}, (run - wasted) / floor {share:.4f}, "
        f"recomputed {sums['recomputed']}, reused {sums['reused']}, drafted {sums['drafted']}, "
        f"accepted {sums['accepted']}",
        flush=True,
    )


def options_of(method: str, explicit: bool, schedule: str, exemplars: Exemplars, given: Namespace) -> Options:
    """The oracle's options; the product's rules are made of them."""
    shots = shots_of(exemplars)
    return Options(
        method=method,
        schedule=schedule,
        top_k=given.top_k,
        max_new_tokens=given.max_new_tokens,
        end_after=given.end_after,
        query="explicit" if explicit else "implicit",
        examples=shots.examples,
        instruction=shots.instruction,
        case=shots.case,
        example_case=shots.example_case,
        closing=shots.closing,
        before=shots.before,
        **ASKING,
    )


def counted(answer: Answer, certificate: Certificate) -> dict[str, int]:
    """What an answer took, the question model's calls apart, and what was certified of it."""
    costs = {key: round(value) for key, value in answer.counters.as_dict().items() if not key.endswith("_ms")}
    return {
        **costs,
        "questions_run": 0 if answer.question_counters is None else answer.question_counters.run,
        "steps": len(answer.steps),
        "triggered": sum(step.triggered for step in answer.steps),
        "searches": len(answer.searches),
        "certified_calls": certificate.calls,
        "full": certificate.full,
        "tokens": certificate.tokens,
    }


if __name__ == "__main__":
    main()
