"""Many questions at once: how much faster they are done, and whether the answers stay what they were one by one.

python -m benchmarks.throughput --out throughput --dtype bfloat16

Every concurrency answers the same questions with an engine of its own that has the exemplars in its pool and nothing
else. Prints questions and answer tokens a second, and their ratio to one question at a time.
"""

import asyncio
from collections import defaultdict
from dataclasses import dataclass
from time import perf_counter

from benchmarks.plot import Curves, draw
from benchmarks.questions import append
from benchmarks.setting import Setting, opened, options, parsed
from benchmarks.table import percentile, table
from flare_local import flare_direct
from flare_local.trace.events import Answer

QUICK = {"limit": 8, "max_new_tokens": 32, "slots": 8192, "concurrency": [1, 2, 4, 8]}


@dataclass(frozen=True)
class Batch:
    """Questions that were answered together."""

    concurrency: int
    seconds: float
    answers: list[Answer]

    @property
    def tokens(self) -> int:
        """Tokens of the answers; drafts that were not kept are none."""
        return sum(len(step.tokens) for answer in self.answers for step in answer.steps)

    @property
    def forwards_ms(self) -> float:
        return sum(
            each.counters.prefill_ms + each.counters.decode_ms + each.counters.verify_ms for each in self.answers
        )


def main() -> None:
    given = options(__doc__ or "")
    given.set_defaults(limit=32)
    given.add_argument("--concurrency", type=int, nargs="+", default=[1, 2, 4, 8, 16, 32])
    chosen = parsed(given, QUICK)
    with opened(chosen) as setting:
        setting.rehearse()
        batches = measure(setting, chosen.concurrency)
        first = batches[chosen.concurrency[0]]
        rows = [row(concurrency, batches[concurrency], first) for concurrency in chosen.concurrency]
        print(f"\n{len(setting.questions)} questions, in batches of {len(first[0].answers)}")
        headings = ["at once", "questions/s", "tokens/s", "ratio", "median s an answer", "p95 s", "same answers"]
        print(table(headings, rows), flush=True)
        rates = [(float(at), questions_a_second(each)) for at, each in batches.items()]
        waits = [(float(at), percentile(waited(each), 0.5)) for at, each in batches.items()]
        draw(
            setting.out / "throughput.png",
            setting.title,
            Curves("throughput", "questions at once", "questions a second", {"": rates}, doubling=True),
            Curves("what a question waits", "questions at once", "median s an answer", {"": waits}, doubling=True),
        )


def measure(setting: Setting, concurrencies: list[int]) -> dict[int, list[Batch]]:
    """Batch after batch of as many questions as the largest concurrency; all concurrencies do one before the next."""
    size = max(concurrencies)
    done: dict[int, list[Batch]] = defaultdict(list)
    for begin in range(0, len(setting.questions), size):
        for concurrency in concurrencies:
            batch = run(setting, setting.questions[begin : begin + size], concurrency)
            done[concurrency].append(batch)
            append(setting.out / "throughput.jsonl", {
                "concurrency": concurrency, "questions": len(batch.answers), "seconds": batch.seconds,
                "tokens": batch.tokens, "answers": [answer.text for answer in batch.answers],
                "answer_seconds": [answer.counters.total_ms / 1000 for answer in batch.answers],
                "run": sum(answer.counters.run for answer in batch.answers),
                "forward_seconds": batch.forwards_ms / 1000,
            })  # fmt: skip
            print(f"{concurrency} at once: {len(batch.answers)} questions in {batch.seconds:.1f} s", flush=True)
    return done


def run(setting: Setting, questions: list[str], concurrency: int) -> Batch:
    """Answers `questions`, so many at once, with a new engine that has read the exemplars."""
    with setting.engine() as engine:
        setting.read_exemplars(engine)
        began = perf_counter()
        answers = asyncio.run(
            flare_direct.many(
                engine,
                setting.index,
                questions,
                exemplars=setting.exemplars,
                rules=setting.rules,
                at_once=concurrency,
            )
        )
        return Batch(concurrency, perf_counter() - began, answers)


def row(concurrency: int, batches: list[Batch], first: list[Batch]) -> list[object]:
    """A line of the table; `first`: what it is compared with."""
    texts, answers = ([answer.text for batch in each for answer in batch.answers] for each in (first, batches))
    seconds, base = (sum(batch.seconds for batch in each) for each in (batches, first))
    same = sum(answer == text for answer, text in zip(answers, texts, strict=True))
    return [
        concurrency,
        questions_a_second(batches),
        sum(batch.tokens for batch in batches) / seconds,
        base / seconds,
        percentile(waited(batches), 0.5),
        percentile(waited(batches), 0.95),
        f"{same} of {len(answers)}",
    ]


def questions_a_second(batches: list[Batch]) -> float:
    """Of all batches together."""
    return sum(len(batch.answers) for batch in batches) / sum(batch.seconds for batch in batches)


def waited(batches: list[Batch]) -> list[float]:
    """Seconds from a question to its answer, others running beside it."""
    return [answer.counters.total_ms / 1000 for batch in batches for answer in batch.answers]


if __name__ == "__main__":
    main()
