"""A served model answers as the engine does: the same model in fp32, here and behind HTTP."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from flare_local.engine.call import Call, Paragraph, Sentence, StopReason, Tokens, Until, Whole
from flare_local.engine.engine import Engine
from flare_local.http.patience import Patience
from flare_local.policies.methods import METHODS
from flare_local.served.model import ServedModel
from flare_local.trace.events import Answer
from tests.engine.exactness import CORPUS_RETRIEVER, EXAMPLES, SEARCH_SKILL, exemplars_of, rules_of, tiny_loaded
from tests.loopback import serving
from tests.oracle.options import Options
from tests.served.completions_server import FORMS, NAME, CompletionsServer
from tests.tiny_models import tiny_questions

QUICK = Patience(tries=2, first_s=0.01)
NEAR = 1e-4  # of two probabilities in fp32, computed by kernels of other shapes
COMMON = {"theta": 0.3, "beta": 0.2, "max_new_tokens": 24, "look_ahead": 24, "examples": EXAMPLES}
SETTINGS = {
    "direct paper": Options(method="flare_direct", schedule="paper", **COMMON),
    "direct released": Options(method="flare_direct", schedule="released", **COMMON),
    "instruct paper": Options(method="flare_instruct", schedule="paper", **{**COMMON, **SEARCH_SKILL}),
    "instruct released": Options(method="flare_instruct", schedule="released", **{**COMMON, **SEARCH_SKILL}),
}


@pytest.fixture(scope="module")
def engine() -> Engine:
    return Engine(tiny_loaded("llama", torch.float32), slots=4096)


async def ask(model: Engine | ServedModel, options: Options, question: str) -> Answer:
    lm = model.question(question)
    policy = METHODS[options.method].answer
    return await policy(lm, CORPUS_RETRIEVER, question, exemplars_of(options), rules_of(options), None)


def assert_equal(ours: Answer, theirs: Answer) -> None:
    assert theirs.text == ours.text
    assert len(theirs.writings) == len(ours.writings)
    for here, there in zip(ours.writings, theirs.writings, strict=True):
        assert there.prompt == here.prompt
        assert there.generation.tokens == here.generation.tokens
        assert there.generation.stop == here.generation.stop
        assert there.generation.text == here.generation.text
        assert there.generation.probabilities == pytest.approx(here.generation.probabilities, abs=NEAR)
        assert there.generation.eos_probability == pytest.approx(here.generation.eos_probability, abs=NEAR)
    assert [search.queries for search in theirs.searches] == [search.queries for search in ours.searches]


@pytest.mark.parametrize("name", SETTINGS)
def test_answers_over_http_equal_those_of_the_engine(name: str, engine: Engine, tokenizer: Path) -> None:
    searches = 0
    with (
        serving(CompletionsServer()) as url,
        ServedModel.connect(url + "/v1", NAME, str(tokenizer), patience=QUICK) as served,
    ):
        for question in tiny_questions(2):
            ours = asyncio.run(ask(engine, SETTINGS[name], question))
            assert_equal(ours, asyncio.run(ask(served, SETTINGS[name], question)))
            searches += len(ours.searches)
    assert searches


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_tokens_is_read(form: str, engine: Engine, tokenizer: Path) -> None:
    prompt = engine.model.codec.encode("The old tower of the town is")
    call = Call(prompt, max_new_tokens=12)
    ours = asyncio.run(engine.generate(call))
    with (
        serving(CompletionsServer(form=form)) as url,
        ServedModel.connect(url + "/v1", NAME, str(tokenizer), patience=QUICK) as served,
    ):
        theirs = asyncio.run(served.generate(call))
    assert (theirs.tokens, theirs.text, theirs.stop) == (ours.tokens, ours.text, ours.stop)


def test_a_server_that_takes_texts_only_gets_the_text_of_the_same_ids(engine: Engine, tokenizer: Path) -> None:
    call = Call(engine.model.codec.encode("Anna wrote the old book"), max_new_tokens=8)
    ours = asyncio.run(engine.generate(call))
    with (
        serving(CompletionsServer(takes_ids=False)) as url,
        ServedModel.connect(url + "/v1", NAME, str(tokenizer), patience=QUICK) as served,
    ):
        assert asyncio.run(served.generate(call)).tokens == ours.tokens


@pytest.mark.parametrize("until", [Sentence(), Paragraph(), Tokens(3), Whole()], ids=repr)
def test_every_unit_ends_where_the_engine_ends_it_and_the_rest_is_not_generated(
    until: Until, engine: Engine, tokenizer: Path
) -> None:
    prompt = engine.model.codec.encode("Who wrote the book of the river?\n")
    call = Call(prompt, until, max_new_tokens=40, stop=(" q",), banned=frozenset({engine.model.codec.encode(".")[0]}))
    server = CompletionsServer()
    with (
        serving(server) as url,
        ServedModel.connect(url + "/v1", NAME, str(tokenizer), patience=QUICK) as served,
    ):
        for each in (call, replace(call, banned=frozenset()), replace(call, marks=("t",))):
            ours = asyncio.run(engine.generate(each))
            theirs = asyncio.run(served.generate(each))
            assert (theirs.tokens, theirs.text, theirs.stop) == (ours.tokens, ours.text, ours.stop)


def test_an_end_whose_token_is_not_shown_is_an_end_without_a_probability(engine: Engine, tokenizer: Path) -> None:
    eos = engine.model.codec.tokenizer.eos_token_id
    call = Call(engine.model.codec.encode("The harbour"), max_new_tokens=4, logit_bias={eos: 100.0})
    with (
        serving(CompletionsServer(hides_end=True)) as url,
        ServedModel.connect(url + "/v1", NAME, str(tokenizer), patience=QUICK) as served,
    ):
        generation = asyncio.run(served.generate(call))
    assert (generation.stop, generation.tokens, generation.eos_probability) == (StopReason.EOS, (), None)
