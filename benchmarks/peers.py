"""Seconds an answer: the engine against other ways to run the same policy, question by question in turn.

python -m benchmarks.peers --out DIR --quick
python -m benchmarks.peers --out DIR --model M --dtype bfloat16 --index I --questions Q --exemplars E --repeat 2

Every row answers the same questions with the same prompts and documents by FLARE direct. Before that every row is timed
on a plain decode: a peer that needs more seconds a token there than `generate` does is not run as it should be. DIR
gets `peers.jsonl`, a line an answer as soon as it is there, and `peers.png`.
"""

import argparse
import asyncio
import dataclasses
import platform
from pathlib import Path
from time import perf_counter

import torch
import transformers

from benchmarks.distance import distances
from benchmarks.hugging_face import plain_model
from benchmarks.measured import OURS, Measured, Summary, accepted_per_forward, outside, regenerated, summaries
from benchmarks.peer_rows import AFRESH, ROWS, Row, make_rows
from benchmarks.plain_decode import PROMPTS, prompts_of, seconds_per_token
from benchmarks.plot import Bars, draw
from benchmarks.questions import append
from benchmarks.setting import Setting, opened, options, parsed
from benchmarks.table import table
from flare_local.policies.flare_direct import flare_direct
from flare_local.policies.rules import Rules
from flare_local.tasks.exemplars import NONE, Exemplars
from flare_local.trace.events import Answer

QUICK = {"limit": 2, "max_new_tokens": 20, "slots": 8192, "decode_tokens": 5}
HEADINGS = ("", "s/answer", "ratio", "later", "per call", "calls", "forwards", "ms/token", "same sentences")
NOTE = """s/answer: median. ratio: seconds over the engine's to the same question, median; later: without the first
question of a repetition, which finds nothing cached; per call: seconds a call. calls, forwards: of an answer, mean.
ms/token: of a plain decode. same sentences: those that the engine wrote at the same place."""
REHEARSED = 8  # tokens


def main() -> None:
    given = options(__doc__ or "")
    given.add_argument("--rows", nargs="+", default=list(ROWS), choices=list(ROWS), help="the engine is always there")
    given.add_argument("--repeat", type=int, default=1, help="repetitions, each from empty caches")
    given.add_argument("--vllm-python", type=Path, help="interpreter of a venv with vLLM")
    given.add_argument("--decode-tokens", type=int, default=33, help="tokens of the plain decode")
    given.add_argument("--distance-calls", type=int, default=0, help="the engine's calls compared with fp32 (slow)")
    chosen = parsed(given, QUICK)
    with opened(chosen) as setting:
        run = Run(setting, chosen)
        try:
            run.rehearse()
            run.time_plain_decodes()
            for repeat in range(chosen.repeat):
                run.answer_all(repeat)
            run.report()
        finally:
            run.close()
        if chosen.distance_calls:
            run.report_distances(chosen.distance_calls)


class Run:
    """Owns the rows and all that was measured so far."""

    def __init__(self, setting: Setting, given: argparse.Namespace) -> None:
        self.setting = setting
        self.given = given
        self.file = setting.out / "peers.jsonl"
        self.measured: list[Measured] = []
        self.per_token: dict[str, float] = {}
        self.absent: dict[str, str] = {}
        versions = {"torch": torch.__version__, "transformers": transformers.__version__}
        append(self.file, {"setting": setting.title, "python": platform.python_version(), **versions})
        wanted = [ROWS[name] for name in given.rows]
        self.rows: list[Row] = make_rows(wanted, setting, given.model, given.dtype, given.vllm_python, self.note_absent)

    def note_absent(self, name: str, why: str) -> None:
        """This row is not, or no longer, measured."""
        self.absent[name] = why
        append(self.file, {"row": name, "absent": why})
        print(f"{name}: not run: {why}", flush=True)

    def drop(self, name: str, error: Exception) -> None:
        """A peer failed. The engine's own failures are not to be hidden."""
        if name == OURS:
            raise error
        [row] = [row for row in self.rows if row.name == name]
        self.rows.remove(row)
        row.close()
        self.note_absent(name, f"{type(error).__name__}: {' '.join(str(error).split())[:300]}")

    def rehearse(self) -> None:
        """Every row begins to answer once, without exemplars: what torch, Java and vLLM do only once is in no time."""
        short = dataclasses.replace(self.setting.rules, max_new_tokens=REHEARSED)
        for row in list(self.rows):
            try:
                self.ask(row, "rehearsal", self.setting.questions[0], NONE, short)
            except Exception as error:
                self.drop(row.name, error)

    def time_plain_decodes(self) -> None:
        """Every row in turn, over the same prompts."""
        asked = self.setting.questions
        texts = [f"{asked[number % len(asked)]} {number}" for number in range(PROMPTS)]
        rows = {row.name: row.lm("plain decode") for row in self.rows}
        prompts = prompts_of(rows[OURS], texts)
        self.per_token = seconds_per_token(rows, prompts, self.given.decode_tokens, self.drop)
        append(self.file, {"seconds_per_token": self.per_token})
        for name, seconds in self.per_token.items():
            generate = self.per_token.get(AFRESH)
            against = "" if generate is None else f", {seconds / generate:.2f} times that of generate"
            print(f"plain decode, {name}: {seconds * 1000:.2f} ms a token{against}", flush=True)

    def answer_all(self, repeat: int) -> None:
        """Every row answers question i before question i + 1 is begun; who begins changes from question to question."""
        for row in self.rows:
            row.reset()
        for number, question in enumerate(self.setting.questions):
            first = (number + repeat) % len(self.rows)
            for row in self.rows[first:] + self.rows[:first]:
                try:
                    self.measure(row, repeat, number, question)
                except Exception as error:
                    self.drop(row.name, error)

    def measure(self, row: Row, repeat: int, number: int, question: str) -> None:
        """Has one row answer one question."""
        began = perf_counter()
        answer = self.ask(row, f"{repeat}.{number}", question, self.setting.exemplars, self.setting.rules)
        one = Measured(row.name, repeat, number, perf_counter() - began, answer)
        self.measured.append(one)
        append(self.file, one.line())
        print(
            f"{repeat + 1}.{number + 1} {row.name}: {one.seconds:.2f} s, {answer.counters.calls} calls, "
            f"{answer.text.strip()[:60]!r}",
            flush=True,
        )

    def ask(self, row: Row, id: str, question: str, exemplars: Exemplars, rules: Rules) -> Answer:
        """FLARE direct over one row."""
        return asyncio.run(flare_direct(row.lm(id), self.setting.index, question, exemplars, rules))

    def report(self) -> None:
        """The table, what else is asked of the engine, and the plot."""
        told = summaries(ROWS.values(), self.measured, self.per_token)
        print(f"\n{table(HEADINGS, [cells(row) for row in told])}")
        for name, why in self.absent.items():
            print(f"{name}: not run: {why}")
        ours = [m.answer for m in self.measured if m.row == OURS]
        accepted, share = accepted_per_forward(ours), outside(ours)
        again = "no forward" if accepted is None else f"{accepted:.2f} tokens a forward"
        print(f"{NOTE}\n\nengine, {len(regenerated(ours))} regenerated sentences: {again}")
        print(f"engine, time outside forward and search: {share:.1%}", flush=True)
        for summary in told:
            append(self.file, {"summary": dataclasses.asdict(summary)})
        append(self.file, {"accepted_per_forward": accepted, "outside_share": share})
        bars = {row.row: {"": row.ratio} for row in told}
        draw(
            self.setting.out / "peers.png",
            self.setting.title,
            Bars("FLARE direct over other engines", "seconds an answer over the engine's, median", bars, level=1.0),
        )

    def report_distances(self, calls: int) -> None:
        """How far the probabilities of engine and plain model are from fp32's."""
        answers = [m.answer for m in self.measured if m.row == OURS]
        plain, exact = (plain_model(self.given.model, dtype) for dtype in (self.given.dtype, "float32"))
        tokens, engine_off, plain_off = distances(answers, plain, exact, calls)
        print(
            f"{tokens} tokens: mean distance from fp32 {engine_off:.5f} for the engine, {plain_off:.5f} for a plain "
            "forward",
            flush=True,
        )
        append(self.file, {"engine_distance": engine_off, "plain_distance": plain_off})

    def close(self) -> None:
        """Ends every row."""
        for row in self.rows:
            row.close()


def cells(row: Summary) -> list[object]:
    """A line of the table."""
    per_token = None if row.per_token is None else row.per_token * 1000
    same = f"{row.same} of {row.sentences}"
    return [row.row, row.seconds, row.ratio, row.later, row.per_call, row.calls, row.forwards, per_token, same]


if __name__ == "__main__":
    main()
