"""Rules that random answers meet rarely: probabilities of exactly 1, EOS that alone is improbable, drafts of blanks.

Models are bent until the case occurs; product and oracle must still agree.
"""

import pytest
import torch

from tests.engine.exactness import Pair
from tests.oracle.naive import STOPS
from tests.oracle.options import Options
from tests.oracle.prompt import documents_block, question_block
from tests.oracle.unit import SENTENCE
from tests.tiny_models import tiny_questions


@pytest.mark.parametrize("schedule", ["paper", "released"])
@pytest.mark.parametrize("theta", [0.0, 0.9, 1.0])
@pytest.mark.parametrize("beta", [0.9, 1.0])
def test_probabilities_of_exactly_one(schedule: str, theta: float, beta: float) -> None:
    """All logits far apart: every probability is 1.0, and a comparison with 1.0 shows what "below" means."""
    pair = Pair("stablelm", torch.float64, 11)
    for module in (pair.loaded.module, pair.naive.model):
        with torch.no_grad():
            module.get_output_embeddings().weight.mul_(1e6)
    options = Options(schedule=schedule, theta=theta, beta=beta, look_ahead=24, max_new_tokens=40)
    triggered = queries = 0
    with pair.engine() as engine:
        for question in tiny_questions(2, 51):
            answer = pair.answer(engine, options, question)
            assert {p for w in answer.writings for p in w.generation.probabilities} == {1.0}
            triggered += sum(step.triggered for step in answer.steps)
            queries += sum(step.search is not None for step in answer.steps)
    assert (triggered > 0) == (theta == 1.0 or (schedule == "released" and theta == 0.0))
    assert (queries > 0) == (triggered > 0 and (schedule == "paper" or beta < 1))


@pytest.mark.parametrize("schedule", ["paper", "released"])
def test_improbable_end_of_an_answer(schedule: str) -> None:
    """theta lies between the probability of EOS and those of the draft's tokens."""
    pair = Pair("mistral", torch.float64, 13)
    ended = 0
    for question in tiny_questions(60, 53):
        found = pair.naive
        passages = documents_block((), schedule)
        prompt = [*found.bos, *found.encode(passages), *found.encode(question_block(question))]
        draft = found.generate(prompt, SENTENCE, 24, STOPS)
        if draft.eos_probability is None or not draft.tokens or draft.eos_probability >= min(draft.probabilities):
            continue
        theta = (draft.eos_probability + min(draft.probabilities)) / 2
        options = Options(schedule=schedule, theta=theta, look_ahead=24, max_new_tokens=24, initial_retrieval=False)
        with pair.engine() as engine:
            answer = pair.answer(engine, options, question)
        assert answer.steps[0].triggered == (schedule == "released")
        ended += 1
    assert ended, "no draft of these questions ends in an improbable EOS"


@pytest.mark.parametrize("schedule", ["paper", "released"])
def test_drafts_of_blanks(schedule: str) -> None:
    """The best token's row goes to the line break: drafts of blanks only, which the paper's schedule never judges."""
    pair = Pair("qwen2", torch.float64, 14)
    line_break = pair.naive.encode("\n")[0]
    for module in (pair.loaded.module, pair.naive.model):
        with torch.no_grad():
            module.get_output_embeddings().weight.mul_(0.01)
            module.get_output_embeddings().weight[line_break] *= 3e3
    blanks = 0
    options = Options(schedule=schedule, theta=0.9, beta=0.9, look_ahead=1, max_new_tokens=12)
    with pair.engine() as engine:
        for question in tiny_questions(6, 54):
            answer = pair.answer(engine, options, question)
            for step in answer.steps:
                if step.draft is not None and step.draft.tokens and not step.draft.text.strip():
                    blanks += 1
                    assert step.search is None
    assert blanks, "no draft holds only blanks"
