"""Proposals read off the draft and the sequence; what they may never change is in test_exactness."""

import random

import pytest
import torch

from flare_local.engine.call import Call, Tokens
from flare_local.engine.lookup import NOTHING, Lookup, Proposals
from flare_local.engine.speculation import Source
from tests.engine.test_engine import PROMPT, count_tokens, plain, run, tiny_engine

EVERY = frozenset(Source)


def after(ids: list[int], said: int, left: int, draft: tuple[int, ...] = (), most: int = 16) -> Proposals:
    return Lookup(draft, EVERY, most).after(ids, ids[len(ids) - said :], left)


def test_as_long_as_the_output_agrees_all_the_rest_of_the_draft_is_proposed() -> None:
    draft = (1, 2, 3, 4, 5, 6)
    assert after([9], 0, 9, draft, most=2) == (Source.DRAFT, [1, 2, 3, 4, 5, 6])
    assert after([9, 1, 2], 2, 3, draft, most=2) == (Source.DRAFT, [3, 4, 5])


def test_after_a_mismatch_the_draft_goes_on_where_two_tokens_agree_again() -> None:
    draft = (1, 2, 3, 4, 5, 6)
    assert after([9, 1, 2, 30, 4, 5], 5, 3, draft) == (Source.TAIL, [6])
    assert after([9, 1, 2, 30, 4, 5, 8], 6, 3, draft) == NOTHING
    assert after([9, 1, 2, 30, 2, 3], 5, 3, draft, most=2) == (Source.TAIL, [4, 5])


def test_three_tokens_seen_before_propose_what_followed_them_last() -> None:
    assert after([1, 2, 3, 4, 5, 1, 2, 3, 6, 7, 1, 2, 3], 1, 2) == (Source.SEEN, [6, 7])
    assert after([1, 2, 3, 4, 1, 2], 1, 2) == NOTHING
    assert after([1, 2, 3, 4, 1, 2, 3], 1, 0) == NOTHING


def test_nothing_is_looked_up_before_anything_is_said() -> None:
    assert after([1, 2, 3, 4, 1, 2, 3], 0, 9) == NOTHING


def test_a_source_that_is_off_proposes_nothing() -> None:
    ids = [1, 2, 3, 4, 5, 1, 2, 3]
    assert Lookup((3, 4), EVERY - {Source.DRAFT}, 9).after(ids, [3], 9) == (Source.SEEN, [4, 5, 1, 2, 3])
    assert Lookup((2, 3, 9), EVERY - {Source.TAIL}, 9).after(ids, [1, 2, 3], 9).source is Source.SEEN
    assert Lookup((), EVERY - {Source.SEEN}, 9).after(ids, [3], 9) == NOTHING


def test_what_is_seen_grows_with_the_sequence() -> None:
    lookup = Lookup((), EVERY, 2)
    ids = [1, 2, 3, 4]
    assert lookup.after(ids, [4], 9) == NOTHING
    ids += [9, 1, 2, 3]
    assert lookup.after(ids, [3], 9) == (Source.SEEN, [4, 9])


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
