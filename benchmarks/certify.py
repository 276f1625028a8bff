"""Answers questions with a real model and has every answer certified by the oracle, call by call.

python -m benchmarks.certify --out certified.jsonl --limit 20 --schedule paper released

Prints, for each schedule, how many calls, tokens and decisions were certified, and tokens run against the floor. The
oracle loads the weights again, with Transformers' own attention and no engine; a rejected answer ends the run.
"""

import dataclasses
import json
import time
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM

from benchmarks.questions import cpu, parser, questions, with_embedded
from flare_local import Engine, flare_direct
from flare_local.policies.rules import SCHEDULES, Rules
from flare_local.retrieval.open import open_index
from flare_local.tasks.exemplars import read_exemplars
from tests.engine.exactness import trace_of
from tests.oracle.certificate import certify
from tests.oracle.margin import Margin
from tests.oracle.options import Options
from tests.oracle.prompt import Example, Passage


def main() -> None:
    options = parser(__doc__ or "")
    options.add_argument("--schedule", nargs="+", default=["paper", "released"], choices=list(SCHEDULES))
    options.add_argument("--full-every", type=int, default=10, help="calls between two whole look-aheads")
    given = with_embedded(options.parse_args())
    exemplars = read_exemplars(given.exemplars)
    engine = Engine.load(given.model, dtype=given.dtype)
    index = open_index(given.index)
    reference = AutoModelForCausalLM.from_pretrained(
        given.model, dtype=getattr(torch, given.dtype), attn_implementation="sdpa"
    )
    settings = {"top_k": given.top_k, "max_new_tokens": given.max_new_tokens, "end_after": given.end_after}
    examples = tuple(
        Example(e.question, e.answer, tuple(Passage(d.id, d.title, d.text) for d in e.documents))
        for e in exemplars.examples
    )

    def search(query: str, k: int) -> list[Passage]:
        [found] = index.search_now([query], k)
        return [Passage(d.id, d.title, d.text) for d in found]

    print(cpu(), given.model, given.dtype, flush=True)
    for schedule in given.schedule:
        rules = dataclasses.replace(Rules(schedule=SCHEDULES[schedule]), **settings)
        oracle_options = Options(schedule=schedule, examples=examples, **settings)
        margin = Margin(exact=given.dtype == "float64")
        calls = full = tokens = 0
        sums: dict[str, float] = {}
        for question in questions(given.questions, given.limit):
            began = time.perf_counter()
            answer = flare_direct(engine, index, question, exemplars=exemplars, rules=rules)
            seconds = time.perf_counter() - began
            certificate = certify(
                reference,
                engine.model.codec.tokenizer,
                search,
                oracle_options,
                trace_of(answer),
                full_every=given.full_every,
                margin=margin,
                eos=engine.model.eos_ids,
            )
            calls, full, tokens = calls + certificate.calls, full + certificate.full, tokens + certificate.tokens
            counters = answer.counters.as_dict()
            sums = {key: sums.get(key, 0) + value for key, value in counters.items()}
            _append(given.out, {"schedule": schedule, "question": question, "answer": answer.text} | {
                "seconds": seconds, "certify_seconds": time.perf_counter() - began - seconds,
                "calls": certificate.calls, "triggered": sum(step.triggered for step in answer.steps),
                "steps": len(answer.steps), "counters": counters,
            })  # fmt: skip
        share = (sums["run"] - sums["wasted"]) / sums["floor"]
        print(
            f"{schedule}: {calls} calls ({full} in full), {tokens} tokens, {margin.decisions} decisions certified, "
            f"{len(margin.cases)} near ties; run {sums['run']:.0f}, wasted {sums['wasted']:.0f}, floor "
            f"{sums['floor']:.0f}, (run - wasted) / floor {share:.4f}, recomputed {sums['recomputed']:.0f}, "
            f"reused {sums['reused']:.0f}, drafted {sums['drafted']:.0f}, accepted {sums['accepted']:.0f}",
            flush=True,
        )
    engine.close()


def _append(path: Path, row: dict[str, object]) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(row, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
