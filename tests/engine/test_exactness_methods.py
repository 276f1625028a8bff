"""Every method in both schedules, on the engine against the oracle: alone with room, then all at once with hardly any.

Tiny models never write `[Search(`. Here the words that the methods wait for are ones that they do write.
"""

import asyncio
import random
from collections import Counter
from typing import Any

import pytest
import torch

from flare_local.policies import flare_instruct, question_decomposition
from flare_local.policies.methods import METHODS
from flare_local.trace.events import Answer
from tests.engine.exactness import ASKING, Pair, ask, check_integrity, slots_needed, words_of
from tests.oracle import instruct, previous
from tests.oracle.options import Options
from tests.oracle.unit import Unit
from tests.tiny_models import tiny_questions

CASES = [
    ("llama", "bytes", torch.float64),
    ("gemma3_text", "metaspace", torch.float64),
    ("qwen2", "bytes", torch.float32),
]
WAITED_FOR = {
    (flare_instruct, "SEARCH_BEGIN"): "[",
    (instruct, "OPEN"): "[",
    (flare_instruct, "SEARCH_END"): "e",
    (instruct, "CLOSE"): "e",
    (question_decomposition, "INTERMEDIATE_ANSWER"): "o",
    (previous, "ANSWER_MARK"): "o",
    (question_decomposition, "FOLLOW_UP"): " ",
    (previous, "QUESTION_MARK"): " ",
}
SEEN: Counter[str] = Counter()


@pytest.fixture(autouse=True)
def words(monkeypatch: pytest.MonkeyPatch) -> None:
    for (module, name), word in WAITED_FOR.items():
        monkeypatch.setattr(module, name, word)


def options_of(method: str, schedule: str, rng: random.Random) -> Options:
    """Short answers of one method."""
    explicit: dict[str, Any] = {"query": "explicit", **ASKING} if rng.random() < 0.8 else {}
    return Options(
        method=method,
        schedule=schedule,
        theta=rng.choice([0.3, 0.5, 0.8]),
        beta=rng.choice([0.3, 0.4, 0.6]),
        look_ahead=12,
        max_new_tokens=rng.choice([16, 24]),
        unit=rng.choice([Unit("sentence", 5)] * 3 + [Unit("tokens", 9)]),
        combine=rng.random() < 0.3,
        window=rng.choice([4, 7]),
        window_query=rng.choice([3, 7, None]),
        search_bias=rng.choice([8.0, 12.0]),
        brackets=rng.choice(["schedule", "all", "one"]),
        query_tokens=rng.choice([64, 6]),
        **words_of(method, rng),
        **explicit,
    )


@pytest.mark.parametrize(("arch", "kind", "dtype"), CASES, ids=[case[0] for case in CASES])
def test_every_method_is_the_oracles(arch: str, kind: str, dtype: torch.dtype) -> None:
    rng = random.Random(f"methods {arch}")
    pair = Pair(arch, dtype, 9, kind)
    kinds = [(method, schedule) for method in METHODS for schedule in ("paper", "released")]
    kinds += [("flare_direct", "paper"), ("flare_direct", "released")] * 2
    cases = [(options_of(*kind, rng), question) for kind, question in zip(kinds, tiny_questions(20, 41), strict=True)]
    with pair.engine(8192, max_forward_tokens=128) as engine:
        alone = [pair.answer(engine, options, question) for options, question in cases]
        check_integrity(engine)

    async def together() -> list[Answer]:
        gate = asyncio.Semaphore(8)

        async def one(options: Options, question: str) -> Answer:
            async with gate:
                return await ask(engine, options, question)

        return await asyncio.gather(*(one(options, question) for options, question in cases))

    with pair.engine(slots_needed(alone) + 40, max_forward_tokens=48) as engine:
        for (options, _), answer in zip(cases, asyncio.run(together()), strict=True):
            pair.compare(answer, options)
            meet(answer)
        check_integrity(engine)
    pair.margin.check()
    SEEN[arch] += 1


def meet(answer: Answer) -> None:
    """Counts what one answer contained."""
    SEEN[f"by {answer.method}"] += 1
    SEEN["evictions"] += answer.counters.evicted
    for step in answer.steps:
        SEEN["one question"] += len(step.asked) == 1
        SEEN["several questions at once"] += len(step.asked) > 1
        SEEN["triggered and nothing asked"] += step.triggered and not step.asked and step.draft is not None
        SEEN["search calls"] += step.kept is not None
        SEEN["search calls in two parts"] += step.call is not None
        SEEN["searches between sentences"] += step.draft is None and step.search is not None
        SEEN["marks"] += step.sentence.generation.stop == "mark"


def test_all_that_the_methods_do_was_met() -> None:
    if any(arch not in SEEN for arch, _, _ in CASES):
        pytest.skip("only a part of the suite ran")
    print(SEEN)
    assert len(SEEN) == len(CASES) + len(METHODS) + 8
    assert not {what: count for what, count in SEEN.items() if count < 3 and what not in [c[0] for c in CASES]}
