"""The certificate accepts the naive program's traces, and rejects them after any single alteration."""

import copy

import pytest
import torch

from tests.oracle.certificate import Rejected, certify
from tests.oracle.corpus import WordCorpus
from tests.oracle.margin import Margin
from tests.oracle.naive import NaiveModel
from tests.oracle.options import Options
from tests.oracle.policy import answer
from tests.oracle.prompt import Shots
from tests.tiny_models import tiny_model, tiny_questions, tiny_text, tiny_tokenizer

CORPUS = WordCorpus(tiny_text(7, 60))
QUESTION = tiny_questions(4, 3)[2]
ASKING = Shots(case="{question}\nAbout {hint}:")
CASES = {
    "paper": Options(theta=0.2, beta=0.5, max_new_tokens=60),
    "released": Options(schedule="released", theta=0.2, beta=0.5, max_new_tokens=60),
    "single_time": Options(method="single_time", max_new_tokens=60),
    "previous_window": Options(method="previous_window", window=9, max_new_tokens=40),
    "flare_instruct": Options(method="flare_instruct", search_bias=9.0, max_new_tokens=40),
    "question_decomposition": Options(method="question_decomposition", max_new_tokens=40),
    "explicit": Options(theta=0.4, beta=0.4, query="explicit", asking=ASKING, max_new_tokens=40),
}


@pytest.fixture(scope="module")
def judge():
    return tiny_model("qwen3", torch.float64)


def naive_trace(options, question=QUESTION, dtype=torch.float64):
    naive = NaiveModel(tiny_model("qwen3", dtype), tiny_tokenizer())
    return answer(naive, CORPUS.search, options, question)


@pytest.fixture(scope="module")
def trace():
    made = naive_trace(CASES["paper"])
    assert {step["triggered"] for step in made["steps"]} == {True, False}
    return made


def check(judge, trace, options=CASES["paper"], **extra):
    return certify(judge, tiny_tokenizer(), CORPUS.search, options, trace, **extra)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("question", tiny_questions(4, 3))
def test_naive_traces_are_certified(judge, name, question):
    made = naive_trace(CASES[name], question)
    seen = check(judge, made, CASES[name], full_every=3)
    assert seen.calls == len(made["calls"])
    assert 0 < seen.full < seen.calls or seen.calls == 1
    assert seen.tokens == sum(len(call["tokens"]) for call in made["calls"])
    assert not seen.margin.cases


def test_trace_of_another_dtype_is_certified_within_its_tolerance(trace):
    assert not check(tiny_model("qwen3", torch.float32), trace).margin.cases


def test_prompts_may_be_left_out(judge, trace):
    bare = copy.deepcopy(trace)
    for call in bare["calls"]:
        del call["prompt"], call["limit"]
    assert check(judge, bare).calls == len(trace["calls"])


def altered(trace, change):
    other = copy.deepcopy(trace)
    change(other)
    assert other != trace
    return other


def first(trace, **wanted):
    return next(c for c in trace["calls"] if len(c["tokens"]) > 2 and all(c[k] == v for k, v in wanted.items()))


def searched(trace):
    return next(step for step in trace["steps"] if step["queries"])


def cut_early(trace):
    call = first(trace, stop="boundary")
    call["tokens"].pop()
    call["probabilities"].pop()


def cut_late(trace):
    call = first(trace, stop="boundary")
    following = NaiveModel(tiny_model("qwen3"), tiny_tokenizer()).generate([*call["prompt"], *call["tokens"]], limit=1)
    call["tokens"] += following.tokens
    call["probabilities"] += following.probabilities


def next_prompt(trace):
    trace["calls"][2]["prompt"][-1] += 1


def probability(trace):
    trace["calls"][1]["probabilities"][1] += 2e-6


ALTERATIONS = {
    "token": lambda t: first(t)["tokens"].__setitem__(1, first(t)["tokens"][1] ^ 1),
    "last token": lambda t: first(t)["tokens"].__setitem__(-1, first(t)["tokens"][-1] ^ 1),
    "probability": probability,
    "text": lambda t: first(t).__setitem__("text", first(t)["text"] + " "),
    "cut too early": cut_early,
    "cut too late": cut_late,
    "stop reason": lambda t: first(t, stop="boundary").__setitem__("stop", "length"),
    "prompt": next_prompt,
    "limit": lambda t: t["calls"][0].__setitem__("limit", 63),
    "query": lambda t: searched(t)["queries"].append("."),
    "searched query": lambda t: t["searches"][-1].__setitem__("query", t["searches"][-1]["query"][:-1]),
    "documents": lambda t: t["searches"][0]["documents"].reverse(),
    "trigger": lambda t: searched(t).__setitem__("triggered", False),
    "missing step": lambda t: t["steps"].pop(),
    "missing call": lambda t: t["calls"].pop(),
    "additional call": lambda t: t["calls"].append(t["calls"][-1]),
    "answer": lambda t: t.__setitem__("answer", t["answer"] + "."),
    "end": lambda t: t.__setitem__("stop", "max_sentences"),
    "question": lambda t: t.__setitem__("question", "Where?"),
}


@pytest.mark.parametrize("name", ALTERATIONS)
def test_altered_trace_is_rejected(judge, trace, name):
    with pytest.raises(Rejected):
        check(judge, altered(trace, ALTERATIONS[name]))


@pytest.mark.parametrize(
    "change",
    [{"theta": 0.4}, {"theta": 1.0}, {"beta": 0.1}, {"top_k": 1}, {"initial_retrieval": False}, {"look_ahead": 8}],
    ids=str,
)
def test_trace_under_other_options_is_rejected(judge, trace, change):
    other = Options(**{"theta": 0.2, "beta": 0.5, "max_new_tokens": 60, **change})
    if naive_trace(other) == trace:
        pytest.fail("this option changed nothing: the test shows nothing")
    with pytest.raises(Rejected):
        check(judge, trace, other)


def test_other_weights_are_rejected(trace):
    with pytest.raises(Rejected):
        check(tiny_model("qwen3", torch.float64, seed=1), trace)


def test_near_ties_are_followed_counted_and_limited():
    margin = Margin()
    assert margin.token(5, 7, 5e-4) == 7
    assert margin.token(5, 7, 2e-3) == 5
    assert margin.token(5, 5, 0.0) == 5
    assert (margin.decisions, len(margin.cases)) == (3, 1)
    margin.check()
    margin.token(5, 7, 5e-4)
    with pytest.raises(AssertionError, match="2 of 4 decisions"):
        margin.check()
    assert Margin(exact=True).token(5, 7, 0.0) == 5


def test_threshold_next_to_a_probability_may_fall_either_way(trace):
    """theta moved just above a draft's lowest probability: fp32 follows the engine there, fp64 does not."""
    at = next(i for i, step in enumerate(trace["steps"]) if not step["triggered"])
    drafts = [i for step in trace["steps"] for i in ([True, False] if step["triggered"] else [True])]
    call = [call for call, draft in zip(trace["calls"], drafts, strict=True) if draft][at]
    moved = Options(theta=min(call["probabilities"]) + 5e-5, beta=0.5, max_new_tokens=60)
    with pytest.raises(Rejected):
        check(tiny_model("qwen3", torch.float64), trace, moved)
    margin = Margin()
    check(tiny_model("qwen3", torch.float32), trace, moved, margin=margin)
    assert len(margin.cases) == 1
    assert "trigger" in margin.cases[0]
