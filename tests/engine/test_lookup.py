"""Proposals read off the draft and the sequence; what they may never change is in test_exactness."""

import random

import pytest
import torch

from flare_local.engine.call import Call, Tokens
from flare_local.engine.lookup import Lookup
from tests.engine.test_engine import PROMPT, count_tokens, plain, run, tiny_engine


def test_after_a_mismatch_the_draft_goes_on_where_two_tokens_agree_again() -> None:
    lookup = Lookup((1, 2, 3, 4, 5, 6))
    assert lookup.after([9, 1, 2, 30, 4, 5], 3) == [6]
    assert lookup.after([9, 1, 2, 30, 4, 5, 8], 3) == []


def test_three_tokens_seen_before_propose_what_followed_them_last() -> None:
    assert Lookup(()).after([1, 2, 3, 4, 5, 1, 2, 3, 6, 7, 1, 2, 3], 2) == [6, 7]
    assert Lookup(()).after([1, 2, 3, 4, 1, 2], 2) == []
    assert Lookup(()).after([1, 2, 3, 4, 1, 2, 3], 0) == []


def test_what_is_seen_grows_with_the_sequence() -> None:
    lookup = Lookup(())
    ids = [1, 2, 3, 4]
    assert lookup.after(ids, 2) == []
    ids += [9, 1, 2, 3]
    assert lookup.after(ids, 2) == [4, 9]


@pytest.mark.parametrize("arch", ["llama", "mistral", "gemma2", "gpt2"])
def test_looking_up_changes_no_answer(arch: str) -> None:
    rng = random.Random(arch)
    drafted = accepted = 0
    with tiny_engine(arch, lookup=0) as plainly, tiny_engine(arch, lookup=5) as looking:
        for _ in range(12):
            body = rng.choices(range(20, 40), k=6) * 3 + rng.choices(range(20, 90), k=6)
            [expected] = run(plainly, plain(body, 24))
            draft = tuple(rng.choice([token, token, rng.randrange(20, 90)]) for token in expected.tokens)
            [got] = run(looking, Call(tuple(body), Tokens(24), 24, stop=(), speculate=draft))
            assert got.tokens == expected.tokens
            assert got.probabilities == pytest.approx(expected.probabilities, abs=1e-9)
            drafted, accepted = drafted + got.counters.drafted, accepted + got.counters.accepted
        looking._loop.tree.check_integrity()
        looking.pool.check_integrity()
    assert 0 < accepted < drafted


def test_without_reuse_nothing_is_looked_up() -> None:
    with tiny_engine(reuse=False, lookup=5) as engine:
        tokens = count_tokens(engine)
        run(engine, plain(list(PROMPT[:4]) * 5, 10))
    assert tokens[1:] == [1] * 9
    assert engine.model.dtype == torch.float64
