"""How the cost of an answer grows: with its sentences, documents and exemplars, and with questions at once.

So that nothing else grows along, every sentence is a piece of 16 tokens that is drafted, searched for and written again
(`--unit tokens:16`, the theta that always triggers), answers do not end by themselves, and every size begins with a new
engine.
"""

import asyncio
import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate, cycle, islice
from statistics import median
from time import perf_counter

from benchmarks.endless import Endless
from benchmarks.plot import Curves, draw
from benchmarks.questions import append
from benchmarks.setting import Setting
from benchmarks.table import Point, each_further, exponent, table
from flare_local import Engine, flare_direct
from flare_local.engine.call import Tokens
from flare_local.errors import PoolTooSmall, PromptTooLong
from flare_local.policies.rules import Overflow
from flare_local.trace.events import Answer

PIECE = 16  # tokens
SHORT = 2  # pieces of an answer where something else grows
QUESTIONS = 3  # that each size is measured with; the median counts
NEARLY_LINEAR = 1.1  # exponent


@dataclass(frozen=True)
class Growth:
    """Seconds by size."""

    name: str  # what costs
    size: str  # what grows
    points: list[Point]


def sizes(quick: bool) -> tuple[int, ...]:
    """Of everything that grows."""
    return (1, 2, 4) if quick else (1, 2, 4, 8, 16, 32)


def show_growth(setting: Setting, quick: bool) -> None:
    """Measures, prints a table, draws the curves."""
    tried = sizes(quick)
    fixed = setting.with_rules(
        unit=Tokens(PIECE),
        look_ahead=PIECE,
        theta=setting.rules.schedule.always_theta,
        end_after=None,
        overflow=Overflow.ERROR,
        max_new_tokens=PIECE * tried[-1],
        max_sentences=SHORT,
    )
    few = dataclasses.replace(fixed, questions=fixed.questions[: 1 if quick else QUESTIONS])
    grown = [
        by_sentences(few, tried[-1]),
        by_documents(few, tried),
        *by_exemplars(few, tried),
        by_concurrency(fixed, tried),
    ]
    found = [growth for growth in grown if len(growth.points) > 1]
    print()
    print(table(
        ["seconds of", "by", "sizes", "first s", "last s", "exponent", "a further one, first half", "last half", ""],
        [_line(growth) for growth in found],
    ), flush=True)  # fmt: skip
    by_size: dict[str, dict[str, list[Point]]] = {}
    for growth in found:
        by_size.setdefault(growth.size, {})[growth.name] = growth.points
    panels = [Curves(f"by {size}", size, "seconds", curves) for size, curves in by_size.items()]
    draw(setting.out / "growth.png", setting.title, *panels)


def by_sentences(setting: Setting, most: int) -> Growth:
    """One long answer tells the cost of every shorter one: that of its first pieces."""
    long = setting.with_rules(max_sentences=most)
    totals: list[list[float]] = []
    for question in setting.questions:
        with long.engine() as engine:
            long.read_exemplars(engine)
            answer = answer_now(long, engine, question)
        searched = 0.0 if answer.search is None else answer.search.ms
        totals.append([ms / 1000 for ms in accumulate([step.ms for step in answer.steps], initial=searched)][1:])
    points = [(float(n), median(column)) for n, column in enumerate(zip(*totals, strict=True), 1)]
    return _noted(setting, Growth("an answer", "sentences", points))


def by_documents(setting: Setting, tried: Sequence[int]) -> Growth:
    """Documents in a prompt (`top_k`)."""
    name = "an answer of 2 sentences"
    return _noted(setting, Growth(name, "documents", _at_sizes(tried, lambda size: setting.with_rules(top_k=size))))


def by_exemplars(setting: Setting, tried: Sequence[int]) -> list[Growth]:
    """With an empty pool, which reads them, and with a pool that holds them. Few exemplars are repeated."""
    given = setting.exemplars.examples

    def with_exemplars(size: int) -> Setting:
        exemplars = dataclasses.replace(setting.exemplars, examples=tuple(islice(cycle(given), size)))
        return dataclasses.replace(setting, exemplars=exemplars)

    if not given:
        return []
    cold = Growth("an answer, pool empty", "exemplars", _at_sizes(tried, with_exemplars, warm=False))
    warm = Growth("an answer, pool warm", "exemplars", _at_sizes(tried, with_exemplars))
    return [_noted(setting, cold), _noted(setting, warm)]


def by_concurrency(setting: Setting, tried: Sequence[int]) -> Growth:
    """So many questions, all at once."""
    points = []
    for size in (size for size in tried if size <= len(setting.questions)):
        with setting.engine() as engine:
            setting.read_exemplars(engine)
            began = perf_counter()
            asyncio.run(_together(setting, engine, setting.questions[:size]))
            points.append((float(size), perf_counter() - began))
        print(f"{size} questions at once: {points[-1][1]:.2f} s", flush=True)
    return _noted(setting, Growth("all answers", "questions at once", points))


def answer_now(setting: Setting, engine: Engine, question: str) -> Answer:
    """An answer of as many pieces as the rules allow."""
    return asyncio.run(_answer(setting, engine, question))


async def _together(setting: Setting, engine: Engine, questions: Sequence[str]) -> None:
    await asyncio.gather(*(_answer(setting, engine, question) for question in questions))


async def _answer(setting: Setting, engine: Engine, question: str) -> Answer:
    lm = Endless(engine.question(question), setting.model.eos_ids)
    return await flare_direct.method.answer(lm, setting.index, question, setting.exemplars, setting.rules, None)


def _at_sizes(tried: Sequence[int], make: Callable[[int], Setting], warm: bool = True) -> list[Point]:
    """Median seconds of an answer at each size, up to the first that the model or the pool cannot hold."""
    points: list[Point] = []
    for size in tried:
        setting = make(size)
        try:
            seconds = [_seconds(setting, question, warm) for question in setting.questions]
        except (PromptTooLong, PoolTooSmall) as error:
            print(f"nothing of size {size} and above: {error}", flush=True)
            break
        points.append((float(size), median(seconds)))
    return points


def _seconds(setting: Setting, question: str, warm: bool) -> float:
    with setting.engine() as engine:
        if warm:
            setting.read_exemplars(engine)
        began = perf_counter()
        answer_now(setting, engine, question)
        return perf_counter() - began


def _noted(setting: Setting, growth: Growth) -> Growth:
    append(setting.out / "growth.jsonl", dataclasses.asdict(growth))
    shown = ", ".join(f"{size:g}: {seconds:.2f}" for size, seconds in growth.points)
    print(f"seconds of {growth.name} by {growth.size}: {shown}", flush=True)
    return growth


def _line(growth: Growth) -> list[object]:
    (first, cost), (last, most) = growth.points[0], growth.points[-1]
    power = exponent(growth.points)
    verdict = "near linear or better" if power <= NEARLY_LINEAR else "worse than linear"
    return [growth.name, growth.size, f"{first:g}-{last:g}", cost, most, power, *each_further(growth.points), verdict]
