"""Scores of tokens, in the interpreter, against plain fp64."""

import pytest
import torch

pytest.importorskip("triton")

from flare_kernels.score_tokens import score_tokens, score_tokens_reference


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize(("rows", "vocabulary"), [(1, 3), (4, 320), (2, 4096), (3, 9001)])
def test_scores_are_those_of_fp64(rows: int, vocabulary: int, dtype: torch.dtype) -> None:
    generator = torch.Generator().manual_seed(vocabulary)
    logits = (torch.randn(rows, vocabulary, generator=generator) * 5).to(dtype)
    ids = torch.randint(vocabulary, (rows,), generator=generator)
    check(logits, ids)


def test_the_lowest_id_wins_a_tie_within_a_block_and_across_blocks() -> None:
    logits = torch.zeros(3, 9000)
    logits[0, [70, 4000, 8999]] = 2.0
    logits[1, [5000, 8000]] = 2.0
    assert score_tokens(logits, torch.zeros(3).long())[0].tolist() == [70, 5000, 0]


def test_a_row_may_be_one_of_a_longer_buffer() -> None:
    logits = torch.randn(4, 700, generator=torch.Generator().manual_seed(0))[:, :600]
    check(logits, torch.tensor([0, 599, 3, 300]))


@pytest.mark.parametrize("shift", [-1e4, 0.0, 1e4])
def test_large_logits_neither_overflow_nor_vanish(shift: float) -> None:
    check(torch.randn(2, 5000, generator=torch.Generator().manual_seed(0)) * 30 + shift, torch.tensor([1, 4999]))


def test_a_banned_token_has_no_probability() -> None:
    logits = torch.full((1, 5000), -torch.inf)
    logits[0, 4500] = -3.0
    top, top_probability, probability = score_tokens(logits, torch.tensor([7]))
    assert (top.item(), top_probability.item(), probability.item()) == (4500, 1.0, 0.0)


def check(logits: torch.Tensor, ids: torch.Tensor) -> None:
    top, top_probability, probability = score_tokens(logits, ids)
    exact = score_tokens_reference(logits.double(), ids)
    assert torch.equal(top, exact[0])
    assert (top_probability - exact[1]).abs().max() < 1e-6
    assert (probability - exact[2]).abs().max() < 1e-6
