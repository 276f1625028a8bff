"""Scores of tokens from logits in one pass: the arg max, its probability, and the probability of one given token."""

import torch
import triton
import triton.language as tl

BLOCK = 4096  # logits read at a time


@triton.jit
def score_tokens_kernel(
    logits,  # [rows, vocabulary] with any stride of the first
    ids,  # [rows]
    top,  # int64 [rows]
    top_probability,  # fp32 [rows]
    probability,  # fp32 [rows]
    row_stride,
    vocabulary,
    BLOCK: tl.constexpr,
):
    """One row: the sum of exponentials is kept relative to the largest logit so far."""
    row = tl.program_id(0).to(tl.int64)
    its = logits + row * row_stride
    greatest = -3.0e38
    best = 0
    total = 0.0
    for start in range(0, vocabulary, BLOCK):
        id_ = start + tl.arange(0, BLOCK)
        x = tl.load(its + id_, mask=id_ < vocabulary, other=float("-inf")).to(tl.float32)
        here = tl.max(x, 0)
        lowest = tl.min(tl.where(x == here, id_, vocabulary), 0)
        best = tl.where(here > greatest, lowest, best)
        now = tl.maximum(greatest, here)
        total = total * tl.exp(greatest - now) + tl.sum(tl.exp(x - now), 0)
        greatest = now
    asked = tl.load(its + tl.load(ids + row)).to(tl.float32)
    tl.store(top + row, best)
    tl.store(top_probability + row, 1.0 / total)
    tl.store(probability + row, tl.exp(asked - greatest) / total)


def score_tokens(logits: torch.Tensor, ids: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Of logits `[rows, vocabulary]`: the arg max (lowest id on ties), its probability, and that of `ids` `[rows]`.

    Probabilities are the softmax at temperature 1, in fp32. Waits for nothing.
    """
    rows, vocabulary = logits.shape
    assert logits.dtype in (torch.float32, torch.bfloat16, torch.float16)
    assert logits.stride(-1) == 1
    assert ids.shape == (rows,)
    assert ids.dtype == torch.int64
    assert ids.is_contiguous()
    top = torch.empty_like(ids)
    top_probability = torch.empty(rows, dtype=torch.float32, device=logits.device)
    probability = torch.empty_like(top_probability)
    with torch.cuda.device(logits.get_device()):  # Triton launches on the current device
        score_tokens_kernel[(rows,)](
            logits, ids, top, top_probability, probability, logits.stride(0), vocabulary, BLOCK=BLOCK, num_warps=8
        )
    return top, top_probability, probability


def score_tokens_reference(logits: torch.Tensor, ids: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The same in plain torch, in the dtype of its inputs."""
    probabilities = logits.softmax(-1)
    top = (logits == logits.amax(-1, keepdim=True)).int().argmax(-1)
    return top, probabilities.gather(-1, top[:, None])[:, 0], probabilities.gather(-1, ids[:, None])[:, 0]
