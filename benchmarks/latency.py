"""Where the milliseconds of an answer go, with an empty pool and with the exemplars in it.

python -m benchmarks.latency --out latency --dtype bfloat16

Every question is answered twice in turn: cold, by a new engine that has computed nothing, and warm, by one that has the
exemplars (and what earlier questions left) in its pool. Prints median and 95th percentile for each stage.
"""

from benchmarks.plot import Bars, draw
from benchmarks.questions import append
from benchmarks.setting import Setting, Timed, opened, options, parsed
from benchmarks.table import median_ratio, percentile, table

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
            timed: dict[str, Timed] = {}
            for kind in KINDS if number % 2 == 0 else KINDS[::-1]:
                if kind == "warm":
                    timed[kind] = setting.ask(warm, question)
                else:
                    with setting.engine() as cold:  # making a pool is no part of an answer
                        timed[kind] = setting.ask(cold, question)
                note(setting, kind, timed[kind], measured[kind])
            cold_s, warm_s = (timed[kind].seconds for kind in KINDS)
            same = "same" if timed["cold"].answer.text == timed["warm"].answer.text else "other"
            print(f"cold {cold_s:6.2f} s, warm {warm_s:6.2f} s, {same} answer", flush=True)
    return measured


def note(setting: Setting, kind: str, timed: Timed, measured: Milliseconds) -> None:
    """Takes an answer in, and writes its line."""
    costs = timed.answer.counters.as_dict()
    for stage in STAGES:
        measured[stage].append(costs[f"{stage}_ms"])
    measured["answer"].append(timed.seconds * 1000)
    append(setting.out / "latency.jsonl", {
        "kind": kind, "question": timed.answer.question, "answer": timed.answer.text, "seconds": timed.seconds,
        "sentences": len(timed.answer.steps), **costs,
    })  # fmt: skip


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
