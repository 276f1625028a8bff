"""A real server against the engine, on one small model in fp32. Skipped unless the environment names both:

SERVED_LM=http://localhost:8000/v1  the server
SERVED_LM_MODEL=name                the model's name there
SERVED_MODEL=folder                 the same model
"""

import asyncio
import os
import time

import pytest

from flare_local.embedded import embedded_exemplars, embedded_index
from flare_local.engine.engine import Engine
from flare_local.policies.methods import METHODS
from flare_local.policies.rules import SCHEDULES, Rules
from flare_local.retrieval.open import open_index
from flare_local.served.model import ServedModel
from flare_local.tasks.exemplars import read_exemplars

NEAR = 1e-3  # of two probabilities in fp32, computed by other kernels
QUESTION = "Who built the harbour bridge of Tarrow?"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif("SERVED_LM" not in os.environ, reason="no server is given (SERVED_LM)"),
]


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("method", ["flare_direct", "flare_instruct"])
def test_a_real_server_answers_as_the_engine_does(method: str, schedule: str) -> None:
    model, chosen = os.environ["SERVED_MODEL"], METHODS[method]
    rules = Rules(schedule=SCHEDULES[schedule], titles=True, max_new_tokens=32)
    with (
        open_index(embedded_index()) as index,
        ServedModel.connect(os.environ["SERVED_LM"], os.environ["SERVED_LM_MODEL"], model) as served,
        Engine.load(model, dtype="float32") as engine,
    ):
        exemplars = chosen.words(read_exemplars(embedded_exemplars()))
        began = time.perf_counter()
        ours = asyncio.run(chosen.answer(engine.question("q"), index, QUESTION, exemplars, rules, None))
        between = time.perf_counter()
        theirs = asyncio.run(chosen.answer(served.question("q"), index, QUESTION, exemplars, rules, None))
        ended = time.perf_counter()
        pairs = list(zip(ours.writings, theirs.writings, strict=True))
        assert [there.generation.tokens for _, there in pairs] == [here.generation.tokens for here, _ in pairs]
        assert [there.generation.stop for _, there in pairs] == [here.generation.stop for here, _ in pairs]
        for here, there in pairs:
            assert there.generation.probabilities == pytest.approx(here.generation.probabilities, abs=NEAR)
        assert theirs.text == ours.text
        print(f"{method} {schedule}: {len(pairs)} calls, {between - began:.1f} s here, {ended - between:.1f} s there")
