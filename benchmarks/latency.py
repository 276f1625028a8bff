"""Where the milliseconds of an answer go, with an empty pool and with the exemplars in it.

python -m benchmarks.latency --out latency --dtype bfloat16

Every question is answered twice in turn: cold, by a new engine that has computed nothing, and warm, by one that has the
exemplars (and what earlier questions left) in its pool. Prints median and 95th percentile for each stage.
"""

from time import perf_counter

from benchmarks.plot import Bars, draw
from benchmarks.questions import append
from benchmarks.setting import Setting, opened, options, parsed
from benchmarks.table import median_ratio, percentile, table
from flare_local.trace.events import Answer

STAGES = ("prefill", "decode", "verify", "search", "other")
KINDS = ("cold", "warm")
QUICK = {"limit": 4, "max_new_tokens": 64, "slots": 4096}

Milliseconds = dict[str, list[float]]  # stage, or "answer" for the whole -> one value a question


def main() -> None:
    with opened(parsed(options(__doc__ or ""), QUICK)) as setting:
        setting.rehearse()
        measured = measure(setting)
        print(f"\nmilliseconds of an answer, {len(setting.questions)} questions")
        print(as_table(measured), flush=True)
        bars = {kind: {stage: percentile(measured[kind][stage], 0.5) for stage in STAGES} for kind in KINDS}
        draw(setting.out / "latency.png", setting.title, Bars("an answer, medians of its stages", "ms", bars))


def measure(setting: Setting) -> dict[str, Milliseconds]:
    """Cold and warm, question by question; which comes first changes every time."""
    measured: dict[str, Milliseconds] = {kind: {stage: [] for stage in (*STAGES, "answer")} for kind in KINDS}
    with setting.engine() as warm:
        setting.read_exemplars(warm)
        for number, question in enumerate(setting.questions):
            answers: dict[str, Answer] = {}
            for kind in KINDS if number % 2 == 0 else KINDS[::-1]:
                began = perf_counter()
                if kind == "warm":
                    answers[kind] = setting.ask(warm, question)
                else:
                    with setting.engine() as cold:
                        began = perf_counter()  # making a pool is no part of an answer
                        answers[kind] = setting.ask(cold, question)
                        seconds = perf_counter() - began
                if kind == "warm":
                    seconds = perf_counter() - began
                costs = answers[kind].counters.as_dict()
                for stage in STAGES:
                    measured[kind][stage].append(costs[f"{stage}_ms"])
                measured[kind]["answer"].append(seconds * 1000)
                append(setting.out / "latency.jsonl", {
                    "kind": kind, "question": question, "answer": answers[kind].text, "seconds": seconds,
                    "sentences": len(answers[kind].steps), **costs,
                })  # fmt: skip
            cold_s, warm_s = (measured[kind]["answer"][-1] / 1000 for kind in KINDS)
            same = answers["cold"].text == answers["warm"].text
            print(f"cold {cold_s:6.2f} s, warm {warm_s:6.2f} s, {'same' if same else 'other'} answer", flush=True)
    return measured


def as_table(measured: dict[str, Milliseconds]) -> str:
    """A line a stage, the whole answer last; shares are of the warm answers' sum."""
    cold, warm = (measured[kind] for kind in KINDS)
    rows = [
        [
            stage,
            *(percentile(values[stage], share) for values in (cold, warm) for share in (0.5, 0.95)),
            median_ratio(cold[stage], warm[stage]),
            f"{sum(warm[stage]) / sum(warm['answer']):.1%}",
        ]
        for stage in (*STAGES, "answer")
    ]
    return table(["stage", "cold p50", "cold p95", "warm p50", "warm p95", "cold / warm", "share of warm"], rows)


if __name__ == "__main__":
    main()
