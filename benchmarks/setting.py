"""What the benchmarks of the engine work with: one model, index, exemplars, questions and rules."""

import argparse
import asyncio
import dataclasses
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from time import perf_counter
from typing import Any

import torch

from benchmarks.questions import cpu, parser, questions, with_embedded
from flare_local import Engine, flare_direct
from flare_local.engine.model import LoadedModel, load_model
from flare_local.engine.packed_linear import pack_linears
from flare_local.policies.exemplar_documents import with_documents
from flare_local.policies.rules import SCHEDULES, Rules
from flare_local.retrieval.open import open_index
from flare_local.tasks.exemplars import Exemplars, read_exemplars
from flare_local.tasks.presets import PRESETS
from flare_local.trace.events import Answer

OUT = "folder: JSON lines, written as they are measured, and the plot"
SETTING_FILE = "setting.json"  # machine and options, beside what was measured with them


@dataclass(frozen=True)
class Timed:
    """An answer and the seconds from question to answer."""

    answer: Answer
    seconds: float


@dataclass(frozen=True)
class Setting:
    """Opened once; every engine of a benchmark is made of the same weights."""

    title: str  # machine, model and rules, for tables and plots
    model: LoadedModel  # its linear layers packed, as `Engine.load` does it
    unpacked: Callable[[], LoadedModel]  # the same as Torch has it, loaded at the first call
    index: Any
    exemplars: Exemplars
    questions: list[str]
    rules: Rules
    slots: int  # tokens that an engine's pool holds
    out: Path

    def engine(self, *, pack: bool = True, **devices: Any) -> Engine:
        """A new engine with an empty pool. `devices`: what `Engine` takes, to switch one off."""
        return Engine(self.model if pack else self.unpacked(), slots=self.slots, **devices)

    def read_exemplars(self, engine: Engine) -> None:
        """Has the exemplars in the pool, as they are after any question. Of no use where nothing is reused."""
        for prefix in flare_direct.prefixes(engine, exemplars=self.exemplars, rules=self.rules):
            asyncio.run(engine.question("").read_ahead(prefix))

    def ask(self, engine: Engine, question: str) -> Timed:
        """FLARE direct."""
        began = perf_counter()
        answer = flare_direct(engine, self.index, question, exemplars=self.exemplars, rules=self.rules)
        return Timed(answer, perf_counter() - began)

    def rehearse(self) -> None:
        """Answers briefly and forgets it: what torch and Java do only once is no cost of the first row."""
        with self.engine() as engine:
            short = dataclasses.replace(self, rules=dataclasses.replace(self.rules, max_new_tokens=8))
            short.ask(engine, self.questions[0])

    def with_rules(self, **changes: Any) -> "Setting":
        """The same with other rules."""
        return dataclasses.replace(self, rules=dataclasses.replace(self.rules, **changes))


def options(description: str, slots: int = 16384) -> argparse.ArgumentParser:
    """The options of `questions.parser` and those of `opened`."""
    given = parser(description, OUT)
    given.add_argument("--quick", action="store_true", help="a short version; what is named beside it stays")
    given.add_argument("--schedule", default="paper", choices=list(SCHEDULES))
    given.add_argument("--preset", choices=list(PRESETS), help="exemplars of a task, with documents of the index")
    given.add_argument("--slots", type=int, default=slots, help="tokens that the pool of an engine holds")
    return given


def parsed(given: argparse.ArgumentParser, quick: Mapping[str, Any]) -> argparse.Namespace:
    """The command line. With --quick, `quick` stands for the defaults."""
    if given.parse_known_args()[0].quick:
        given.set_defaults(**quick)
    return given.parse_args()


@contextmanager
def opened(given: argparse.Namespace) -> Iterator[Setting]:
    """Opens everything, says on which machine, and makes the folder."""
    name = "embedded model" if given.model is None else Path(given.model).name
    given = with_embedded(given)
    given.out.mkdir(parents=True, exist_ok=True)
    model = load_model(given.model, dtype=given.dtype)
    pack_linears(model.module)
    unpacked = cache(partial(load_model, given.model, dtype=given.dtype))
    title = f"{cpu()}; {torch.get_num_threads()} threads; {name} {given.dtype}, schedule {given.schedule}"
    print(title, flush=True)
    told = {name: value if isinstance(value, int | float | None) else str(value) for name, value in vars(given).items()}
    (given.out / SETTING_FILE).write_text(json.dumps({"setting": title, **told}, indent=1), encoding="utf-8")
    rules = Rules(
        schedule=SCHEDULES[given.schedule],
        top_k=given.top_k,
        max_new_tokens=given.max_new_tokens,
        end_after=given.end_after,
    )
    with open_index(given.index) as index:
        exemplars = PRESETS[given.preset].exemplars if given.preset else read_exemplars(given.exemplars)
        if given.preset:
            exemplars = with_documents(exemplars, index, given.top_k, "benchmark")
        asked = questions(given.questions, given.limit)
        yield Setting(title, model, unpacked, index, exemplars, asked, rules, given.slots, given.out)
