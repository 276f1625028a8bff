"""What each device gains: the same questions with everything on, and with one device after the other switched off.

python -m benchmarks.ablation --out ablation --dtype bfloat16 --preset 2wiki --index I --questions Q --limit 20
python -m benchmarks.ablation --out growth --growth

Each way to answer has an engine of its own with the exemplars in its pool; all of them answer a question before the
next one is asked. Prints the gain of each device as ratios of seconds and of forwards, and how much waiting for a slow
search is hidden. `--growth` shows instead how the cost of an answer grows with its size.
"""

import asyncio
from contextlib import ExitStack
from dataclasses import replace
from math import comb
from statistics import mean, median
from time import perf_counter

from benchmarks.devices import ALL, Arm, Device, arms, devices, turned
from benchmarks.growth import show_growth, sizes
from benchmarks.plot import Bars, draw
from benchmarks.questions import append
from benchmarks.setting import Setting, Timed, opened, options, parsed
from benchmarks.slow_search import SlowSearch
from benchmarks.table import median_ratio, table
from benchmarks.whole_look_ahead import WholeLookAhead
from flare_local import Engine, flare_direct
from flare_local.engine.call import LanguageModel
from flare_local.trace.events import Answer

QUICK = {"limit": 2, "max_new_tokens": 32, "slots": 2048}
CHANCE = 0.05


Answers = dict[str, list[Timed]]  # name of an arm -> one a question


def main() -> None:
    given = options(__doc__ or "", slots=8192)
    given.add_argument("--search-ms", type=float, default=200.0, help="added to each search that is to be hidden")
    given.add_argument("--growth", action="store_true", help="growth of the cost instead of gains")
    chosen = parsed(given, QUICK)
    if chosen.growth:
        chosen.limit = max(chosen.limit, sizes(chosen.quick)[-1])
    with opened(chosen) as setting:
        setting.rehearse()
        if chosen.growth:
            return show_growth(setting, chosen.quick)
        compared = devices(chosen.search_ms, setting.model.device.type == "cuda")
        measured = measure(setting, compared)
        print(f"\ngain of each device, medians over {len(setting.questions)} questions of off / on")
        print(as_table(compared, measured))
        print(written_again([timed.answer for timed in measured[ALL.name]]))
        print(hidden(compared[-1], measured), flush=True)
        gains = {device.name: {"": ratio(device, measured)} for device in compared}
        draw(setting.out / "ablation.png", setting.title, Bars("gain of each device", "seconds off / on", gains, 1.0))


def measure(setting: Setting, compared: list[Device]) -> Answers:
    """Every arm answers question i before i + 1; which arm is first changes with every question."""
    ways = arms(compared)
    measured: Answers = {arm.name: [] for arm in ways}
    with ExitStack() as open_engines:
        engines = {arm.name: open_engines.enter_context(setting.engine(**arm.engine)) for arm in ways}
        for engine in engines.values():
            setting.read_exemplars(engine)
        for number, question in enumerate(setting.questions):
            for arm in turned(ways, number):
                timed = ask(setting, arm, engines[arm.name], question)
                measured[arm.name].append(timed)
                append(setting.out / "ablation.jsonl", {
                    "arm": arm.name, "question": question, "seconds": timed.seconds, "answer": timed.answer.text,
                    "sentences": len(timed.answer.steps), **timed.answer.counters.as_dict(), **foreseen(timed.answer),
                })  # fmt: skip
            shown = ", ".join(f"{name} {timed[-1].seconds:.2f}" for name, timed in measured.items())
            print(f"question {number + 1}, seconds: {shown}", flush=True)
    return measured


def ask(setting: Setting, arm: Arm, engine: Engine, question: str) -> Timed:
    """One question by one arm."""
    lm: LanguageModel = engine.question(question)
    if not arm.early_stop:
        lm = WholeLookAhead(engine.question(question), setting.model.eos_ids)
    index = SlowSearch(setting.index, arm.search_ms) if arm.search_ms else setting.index
    rules = replace(setting.rules, search_ahead=arm.search_ahead)
    began = perf_counter()
    answer = asyncio.run(flare_direct.method.answer(lm, index, question, setting.exemplars, rules, None))
    return Timed(answer, perf_counter() - began)


def ratio(device: Device, measured: Answers) -> float:
    """Median of off / on, in seconds."""
    off, on = ([timed.seconds for timed in measured[arm.name]] for arm in (device.off, device.on))
    return median_ratio(off, on)


def as_table(compared: list[Device], measured: Answers) -> str:
    """A line a device."""
    return table(
        ["device", "seconds off/on", "least", "most", "forwards off/on", "tokens run off/on", "s on", "s off",
         "same answers"],
        [_line(device, measured[device.on.name], measured[device.off.name]) for device in compared],
    )  # fmt: skip


def _line(device: Device, on: list[Timed], off: list[Timed]) -> list[object]:
    pairs = list(zip(off, on, strict=True))
    seconds = [without.seconds / with_it.seconds for without, with_it in pairs]
    same = sum(without.answer.text == with_it.answer.text for without, with_it in pairs)
    return [
        device.name,
        median(seconds),
        min(seconds),
        max(seconds),
        *(median_ratio([_count(t, name) for t in off], [_count(t, name) for t in on]) for name in ("forwards", "run")),
        median(timed.seconds for timed in on),
        median(timed.seconds for timed in off),
        f"{same} of {len(pairs)}",
    ]


def _count(timed: Timed, name: str) -> float:
    return timed.answer.counters.as_dict()[name]


def written_again(answers: list[Answer]) -> str:
    """What a forward brings in the sentences that were written again after a search."""
    again = [
        step.sentence.generation for answer in answers for step in answer.steps if step.draft and not step.accepted
    ]
    forwards = sum(each.counters.forwards for each in again)
    if not forwards:
        return "No sentence was written again."
    accepted, tokens = sum(each.counters.accepted for each in again), sum(len(each.tokens) for each in again)
    return (
        f"{len(again)} sentences written again, everything on: {forwards} forwards, {tokens / forwards:.2f} tokens and "
        f"{accepted / forwards:.2f} accepted proposals a forward"
    )


def foreseen(answer: Answer) -> dict[str, float]:
    """What searching ahead came to in an answer."""
    seen = [step.foresight for step in answer.steps if step.foresight is not None]
    return {
        "searches": len(answer.searches),
        "ahead_searches": sum(each.searches for each in seen),
        "ahead_read": sum(each.read for each in seen),
        "ahead_kept": sum(each.kept for each in seen),
        "hidden_ms": sum(each.hidden_ms for each in seen),
    }


def hidden(device: Device, measured: Answers) -> str:
    """How much of the waiting for searches was used to read documents, and whether an answer is sooner there for it."""
    on, off = measured[device.on.name], measured[device.off.name]
    seen = [foreseen(timed.answer) for timed in on]
    total = {name: sum(each[name] for each in seen) for name in seen[0]}
    waited = mean(_count(timed, "search_ms") for timed in on)
    hid, gain = total["hidden_ms"] / len(on), ratio(device, measured)
    sooner = sum(a.seconds < b.seconds for a, b in zip(on, off, strict=True))
    more = sum(_count(timed, "run") for timed in on) / sum(_count(timed, "run") for timed in off)
    return (
        f"{device.off.name}: an answer waits {waited:.0f} ms for {total['searches'] / len(on):.1f} searches; with "
        f"--search-ahead {hid:.0f} ms of reading are hidden behind drafts and searches\n"
        f"  ({total['ahead_searches']:.0f} searches ahead, {total['ahead_read']:.0f} lists read, "
        f"{total['ahead_kept']:.0f} of them kept; {more:.2f} times the tokens run)\n"
        f"  an answer takes {median(timed.seconds for timed in on):.2f} s with it, "
        f"{median(timed.seconds for timed in off):.2f} s without: {gain:.2f} times as fast, sooner for {sooner} of "
        f"{len(on)} questions: {verdict(sooner, len(on))}"
    )


def verdict(sooner: int, count: int) -> str:
    """Whether the answers were sooner so often, or so seldom, that it is hardly chance (sign test, 5 % a side)."""
    if exceeded(count, sooner) <= CHANCE:
        return "it pays here"
    return "it does not pay here" if exceeded(count, count - sooner) <= CHANCE else "too few or too close to tell"


def exceeded(throws: int, heads: int) -> float:
    """The probability of at least so many heads."""
    return sum(comb(throws, each) for each in range(heads, throws + 1)) * 0.5**throws


if __name__ == "__main__":
    main()
