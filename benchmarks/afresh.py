"""Seconds per answer: the engine against the same policy over Hugging Face `generate`, question by question in turn.

python -m benchmarks.afresh --out afresh.jsonl --dtype bfloat16

Prints, for each question, both times, their ratio and whether the answers agree; at the end the median ratio, and how
far the engine's and plain Hugging Face's probabilities lie from fp32's on the same tokens.
"""

import dataclasses
import json
from pathlib import Path
from statistics import mean, median
from time import perf_counter
from typing import Any

import torch
from transformers import AutoModelForCausalLM

from benchmarks.hugging_face import HuggingFace
from benchmarks.questions import cpu, parser, questions, with_embedded
from flare_local import Engine, flare_direct
from flare_local.api import _wait_for
from flare_local.policies.rules import SCHEDULES, Rules
from flare_local.retrieval.open import open_index
from flare_local.tasks.exemplars import read_exemplars
from flare_local.trace.events import Answer


def main() -> None:
    options = parser(__doc__ or "")
    options.add_argument("--schedule", default="paper", choices=list(SCHEDULES))
    options.add_argument("--distance-calls", type=int, default=12, help="calls compared with fp32 (slow)")
    given = with_embedded(options.parse_args())
    exemplars = read_exemplars(given.exemplars)
    rules = dataclasses.replace(
        Rules(schedule=SCHEDULES[given.schedule]),
        top_k=given.top_k,
        max_new_tokens=given.max_new_tokens,
        end_after=given.end_after,
    )
    index = open_index(given.index)
    engine = Engine.load(given.model, dtype=given.dtype)
    model = engine.model
    plain = _load(given.model, given.dtype)
    peer = HuggingFace(plain, model.codec, model.eos_ids, model.context_length)
    print(
        f"{cpu()}; {torch.get_num_threads()} threads; {given.model} {given.dtype}, schedule {given.schedule}",
        flush=True,
    )
    ratios, call_ratios, same = [], [], 0
    answers: list[Answer] = []
    for question in questions(given.questions, given.limit):
        began = perf_counter()
        ours = flare_direct(engine, index, question, exemplars=exemplars, rules=rules)
        middle = perf_counter()
        theirs = _wait_for(flare_direct.method.answer(peer, index, question, exemplars, rules, None))
        seconds, peer_seconds = middle - began, perf_counter() - middle
        ratios.append(peer_seconds / seconds)
        call_ratios.append(ratios[-1] * ours.counters.calls / theirs.counters.calls)
        same += ours.text == theirs.text
        answers.append(ours)
        row = {
            "question": question,
            "seconds": seconds,
            "peer_seconds": peer_seconds,
            "ratio": ratios[-1],
            "same": ours.text == theirs.text,
            "answer": ours.text,
            "peer_answer": theirs.text,
            "calls": ours.counters.calls,
            "peer_calls": theirs.counters.calls,
            "counters": ours.counters.as_dict(),
        }
        with given.out.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
        print(
            f"{seconds:7.1f} s against {peer_seconds:7.1f} s: {ratios[-1]:5.2f} times; "
            f"{ours.counters.calls} and {theirs.counters.calls} calls; "
            f"{'same answer' if row['same'] else 'other answer'}",
            flush=True,
        )
    print(f"median ratio {median(ratios):.2f}, per call {median(call_ratios):.2f}")
    print(f"the same answer for {same} of {len(ratios)} questions", flush=True)
    if given.dtype != "float32" and given.distance_calls:
        _distances(answers, plain, given.model, given.distance_calls, given.out)


def _distances(answers: list[Answer], plain: Any, name: str, calls: int, out: Path) -> None:
    """Mean |probability - fp32's| over the engine's emitted tokens, for the engine and for a plain forward."""
    exact = _load(name, "float32")
    engine_off: list[float] = []
    plain_off: list[float] = []
    for writing in [writing for answer in answers for writing in answer.writings][:calls]:
        tokens = list(writing.generation.tokens)
        reference = _probabilities(exact, writing.prompt, tokens)
        ours = writing.generation.probabilities
        engine_off += [abs(a - b) for a, b in zip(ours, reference, strict=True)]
        naive = _probabilities(plain, writing.prompt, tokens)
        plain_off += [abs(a - b) for a, b in zip(naive, reference, strict=True)]
    print(
        f"{len(engine_off)} tokens of {calls} calls: mean distance from fp32 {mean(engine_off):.5f} for the engine, "
        f"{mean(plain_off):.5f} for a plain forward",
        flush=True,
    )
    with out.open("a", encoding="utf-8") as file:
        file.write(json.dumps({"engine_distance": mean(engine_off), "plain_distance": mean(plain_off)}) + "\n")


def _probabilities(model: Any, prompt: tuple[int, ...], tokens: list[int]) -> list[float]:
    if not tokens:
        return []
    with torch.inference_mode():
        logits = model(input_ids=torch.tensor([[*prompt, *tokens]]), logits_to_keep=len(tokens) + 1).logits[0, :-1]
    return [float(row.float().softmax(-1)[token]) for row, token in zip(logits, tokens, strict=True)]


def _load(name: str, dtype: str) -> Any:
    return AutoModelForCausalLM.from_pretrained(name, dtype=getattr(torch, dtype), attn_implementation="sdpa").eval()


if __name__ == "__main__":
    main()
