"""The policies against the reference program, over thousands of answers of a model of dice."""

import asyncio
import random
from collections import Counter

from flare_local.policies.methods import METHODS
from flare_local.trace.events import Answer
from tests.engine.exactness import CORPUS, EXAMPLES, CorpusRetriever, exemplars_of, rules_of, trace_of
from tests.oracle.options import Options
from tests.oracle.policy import answer as reference_answer
from tests.oracle.trace import differences
from tests.policies.babbler import Babbler, Reference
from tests.tiny_models import tiny_questions

ANSWERS = 3000
QUESTIONS = tiny_questions(20)


def random_options(dice: random.Random) -> Options:
    """Every rule in every state; theta and beta meet the probabilities of the dice exactly."""
    schedule = dice.choice(["paper", "released"])
    return Options(
        method=dice.choice(["flare_direct"] * 6 + ["single_time", "no_retrieval"]),
        schedule=schedule,
        theta=dice.choice([0.0, 0.4, 0.6, 0.8, 0.8, 1.0]),
        beta=dice.choice([0.0, 0.4, 0.4, 0.6, 1.0]),
        top_k=dice.choice([1, 2, 3]),
        look_ahead=dice.choice([1, 2, 4, 64]),
        max_new_tokens=dice.choice([1, 2, 7, 20, 60]),
        initial_retrieval=dice.random() < 0.7,
        first_sentence=dice.choice(["judge", "accept"]) if schedule == "paper" else "judge",
        end_after=dice.choice([None, None, r"answer|18", r"Ada\s"]),
        max_sentences=dice.choice([None, None, 1, 4]),
        query_tokens=dice.choice([3, 20, 64]),
        titles=dice.random() < 0.5,
        instruction=dice.choice(["", "Be brief."]),
        examples=EXAMPLES[: dice.choice([0, 1, 2])],
    )


def test_every_call_query_document_and_end_is_the_reference_programs() -> None:
    seen: Counter[str] = Counter()
    for seed in range(ANSWERS):
        dice = random.Random(seed)
        options, question, model = random_options(dice), dice.choice(QUESTIONS), Babbler(seed)
        policy = METHODS[options.method].answer
        answer = asyncio.run(policy(model, CorpusRetriever(), question, exemplars_of(options), rules_of(options), None))
        expected = reference_answer(Reference(model), CORPUS.search, options, question)
        assert differences(trace_of(answer), expected, 0.0) == [], (seed, options)
        meet(answer, seen)
    rare = {what: count for what, count in seen.items() if count < ANSWERS / 100}
    assert not rare
    assert len(seen) == 15, seen  # everything that `meet` knows was met


def meet(answer: Answer, seen: Counter[str]) -> None:
    """Counts what one answer contained."""
    seen[f"ended by {answer.stop_reason.value}"] += 1
    for step in answer.steps:
        seen["accepted" if step.accepted else "written again"] += step.draft is not None
        seen["triggered"] += step.triggered
        seen["triggered without a query"] += step.triggered and step.search is None
        seen["no hits"] += step.search is not None and not step.search.documents
        seen["fewer hits than asked for"] += step.search is not None and len(step.search.documents) == 1
        seen["an empty draft"] += step.draft is not None and not step.draft.tokens
        seen["a blank draft"] += step.draft is not None and bool(step.draft.tokens) and not step.draft.text.strip()
        seen["EOS in a draft"] += step.draft is not None and step.draft.generation.stop == "eos"
        seen["a sentence without end"] += step.sentence.generation.stop == "length"
