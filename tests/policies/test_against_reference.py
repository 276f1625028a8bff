"""The policies against the reference program, over thousands of answers of a model of dice."""

import asyncio
import random
from collections import Counter
from contextlib import suppress
from dataclasses import replace

from flare_local.errors import PromptTooLong
from flare_local.policies.methods import METHODS
from flare_local.trace.events import Answer
from tests.engine.exactness import ASKING, CORPUS, CorpusRetriever, exemplars_of, rules_of, trace_of, words_of
from tests.oracle.budget import Refused
from tests.oracle.options import Options
from tests.oracle.policy import answer as reference_answer
from tests.oracle.prompt import CASE
from tests.oracle.run import Run
from tests.oracle.trace import Trace, differences
from tests.policies.babbler import Babbler, Reference
from tests.tiny_models import tiny_questions

ANSWERS, SHORT_OF_ROOM = 3000, 400
QUESTIONS = tiny_questions(20)


def random_options(dice: random.Random) -> Options:
    """Every rule in every state; theta and beta meet the probabilities of the dice exactly."""
    schedule = dice.choice(["paper", "released"])
    method = dice.choice(["flare_direct"] * 6 + list(METHODS))
    initial = dice.random() < 0.7
    return Options(
        method=method,
        schedule=schedule,
        theta=dice.choice([0.0, 0.4, 0.6, 0.8, 0.8, 1.0]),
        beta=dice.choice([0.0, 0.4, 0.4, 0.6, 1.0]),
        top_k=dice.choice([1, 2, 3]),
        look_ahead=dice.choice([1, 2, 4, 64]),
        max_new_tokens=dice.choice([1, 2, 7, 20, 60]),
        initial_retrieval=initial,
        first_sentence=dice.choice(["judge", "accept"]) if schedule == "paper" else "judge",
        end_after=dice.choice([None, None, r"answer|18", r"Ada\s"]),
        max_sentences=dice.choice([None, None, 1, 4]),
        query_tokens=dice.choice([3, 20, 64]),
        titles=dice.random() < 0.5,
        query=dice.choice(["implicit", "explicit"]),
        combine=initial and dice.random() < 0.3,
        window=dice.choice([1, 2, 4, 16]),
        window_query=dice.choice([1, 4, 16, None]),
        brackets=dice.choice(["schedule", "schedule", "all", "one"]),
        search_bias=dice.choice([2.0, 0.5]),
        **words_of(method, dice),
        **ASKING,
    )


def with_questions(options: Options) -> Options:
    """Explicit queries, where drafts are often unsure and have improbable spans."""
    method = {"method": "flare_direct", "query": "explicit", "max_new_tokens": 60, "max_sentences": None}
    words = {"case": CASE, "example_case": None, "closing": "", "before": None}
    return replace(options, **method, **words, theta=0.8, beta=min(0.6, options.beta), look_ahead=64)


def with_small_context(options: Options, question: str, dice: random.Random) -> Options:
    """The same with hardly more room than the question and its answer need; a character is a token here."""
    whole = Run(Reference(Babbler(0)), CORPUS.search, options, question, None, None)
    ids, _ = whole.prompt(options.shots, CORPUS.search(question, 2), whole.case, 0, 0)
    context = whole.longest + dice.randint(len(whole.case), len(ids) + 20)
    return replace(options, context=context, may_cut=dice.random() < 0.9)


async def ask(model: Babbler, options: Options, question: str) -> Answer | None:
    """The product's answer; None where it refuses the question."""
    policy = METHODS[options.method].answer
    with suppress(PromptTooLong):
        return await policy(model, CorpusRetriever(), question, exemplars_of(options), rules_of(options), None)
    return None


def reference(model: Babbler, options: Options, question: str) -> Trace | None:
    """The reference program's; None where it refuses."""
    with suppress(Refused):
        return reference_answer(Reference(model), CORPUS.search, options, question)
    return None


def test_every_call_query_document_and_end_is_the_reference_programs() -> None:
    seen: Counter[str] = Counter()
    for seed in range(ANSWERS + SHORT_OF_ROOM):
        dice = random.Random(seed)
        options, question, model = random_options(dice), dice.choice(QUESTIONS), Babbler(seed)
        if seed % 4 == 0:
            options = with_questions(options)
        if seed >= ANSWERS:
            options = with_small_context(options, question, dice)
            model.context_length = options.context
        answer = asyncio.run(ask(model, options, question))
        expected = reference(model, options, question)
        seen["refused"] += answer is None
        if answer is None or expected is None:
            assert answer is expected, (seed, options)
            continue
        assert differences(trace_of(answer), expected, 0.0) == [], (seed, options)
        meet(answer, seen)
    rare = {what: count for what, count in seen.items() if count < ANSWERS / 250}
    assert not rare
    assert len(seen) == 35, seen  # everything that `meet` knows was met


def meet(answer: Answer, seen: Counter[str]) -> None:
    """Counts what one answer contained."""
    seen[answer.method] += 1
    seen[f"ended by {answer.stop_reason.value}"] += 1
    in_front = answer.search is not None and answer.config["combine"]
    cuts = [writing.cut for writing in answer.writings if writing.cut is not None]
    seen["documents left out"] += any(cut.documents for cut in cuts)
    seen["a document cut by words"] += any(cut.words for cut in cuts)
    seen["exemplars left out"] += any(cut.exemplars for cut in cuts)
    for step in answer.steps:
        drafted = step.draft is not None
        seen["accepted" if step.accepted else "written again"] += drafted
        seen["triggered"] += step.triggered and drafted
        seen["triggered without a query"] += step.triggered and step.search is None and drafted
        seen["a search that was due had no query"] += step.triggered and step.search is None and not drafted
        seen["no hits"] += step.search is not None and not step.search.documents
        seen["fewer hits than asked for"] += step.search is not None and len(step.search.documents) == 1
        seen["an empty draft"] += drafted and not step.draft.tokens
        seen["a blank draft"] += drafted and bool(step.draft.tokens) and not step.draft.text.strip()
        seen["EOS in a draft"] += drafted and step.draft.generation.stop == "eos"
        seen["a sentence without end"] += step.sentence.generation.stop == "length"
        seen["several queries"] += step.search is not None and len(step.search.queries) > 1
        seen["several calls for queries"] += len(step.asked) > 1
        seen["calls for queries and no query"] += bool(step.asked) and step.search is None
        seen["a search call"] += step.kept is not None
        seen["nothing kept beside a search call"] += step.kept == 0
        seen["a search call that is not closed"] += step.call is not None and step.call.generation.stop != "mark"
        seen["documents beside those in front"] += bool(in_front and step.search and step.search.documents)
