"""From logits to choices: which token comes next, and how probable it was."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from flare_local.engine.call import Call
from flare_local.engine.prefix_tree import Choice


@dataclass(frozen=True)
class Scored:
    """One row of logits, read."""

    natural: Choice  # arg max of the unbiased logits
    chosen: Choice  # what the call takes: after bias, bans and sampling; its probability is the unbiased one


def is_plain(call: Call) -> bool:
    """Whether the call takes the model's own arg max: greedy, no bias, no bans."""
    return not call.logit_bias and not call.banned and call.sampling.temperature == 0


# Of logits [R, vocabulary] and one id a row: the arg max, its probability, the id's probability, each [R].
Reader = Callable[[torch.Tensor, torch.Tensor], tuple[torch.Tensor, torch.Tensor, torch.Tensor]]


def read_plainly(logits: torch.Tensor, ids: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The `Reader` in plain torch."""
    logits = _wide(logits)
    top = logits.argmax(-1)
    asked = logits.gather(-1, torch.stack([top, ids], -1))
    top_probability, probability = (asked - logits.logsumexp(-1, keepdim=True)).exp().unbind(-1)
    return top, top_probability, probability


def score(logits: torch.Tensor, rows: Sequence[tuple[Call, int]], read: Reader = read_plainly) -> list[Scored]:
    """Reads logits `[R, vocabulary]`. `rows[i]` is the call that row i belongs to, and the number of its next token.

    Probabilities: softmax at temperature 1, in fp32 or in the logits' own dtype if wider. Ties go to the lowest id.
    Two copies from the device for all rows together.
    """
    taken = torch.zeros(len(rows), dtype=torch.long, device=logits.device)
    odd = {i for i, (call, _) in enumerate(rows) if not is_plain(call)}
    for i in odd:
        taken[i] = _choose(_wide(logits[i]), *rows[i])
    top, p_top, p_taken = read(logits, taken)
    tops, takens = torch.stack([top, taken]).tolist()
    p_tops, p_takens = torch.stack([p_top, p_taken]).tolist()
    natural = [Choice(token, probability) for token, probability in zip(tops, p_tops, strict=True)]
    return [Scored(best, Choice(takens[i], p_takens[i]) if i in odd else best) for i, best in enumerate(natural)]


def _wide(logits: torch.Tensor) -> torch.Tensor:
    return logits.to(torch.promote_types(logits.dtype, torch.float32))


def _choose(logits: torch.Tensor, call: Call, number: int) -> torch.Tensor:
    """The next id under bias, bans and sampling, as a scalar tensor."""
    logits = logits.clone()
    if call.logit_bias:
        ids = torch.tensor(list(call.logit_bias), device=logits.device)
        logits[ids] += torch.tensor(list(call.logit_bias.values()), device=logits.device, dtype=logits.dtype)
    if call.banned:
        logits[torch.tensor(sorted(call.banned), device=logits.device)] = -torch.inf
    if call.sampling.temperature == 0:
        return logits.argmax()
    weights = (logits.double() / call.sampling.temperature).softmax(-1)
    if call.sampling.top_p < 1:
        weights = _nucleus(weights, call.sampling.top_p)
    below = weights.cumsum(-1)
    return torch.searchsorted(below, uniform(call, number) * below[-1], right=True).clamp(max=len(weights) - 1)


def _nucleus(weights: torch.Tensor, top_p: float) -> torch.Tensor:
    """Keeps the smallest set of most probable ids whose probability reaches `top_p`; ties by lowest id."""
    ordered, ids = weights.sort(descending=True, stable=True)
    keep = ordered.cumsum(-1) - ordered < top_p
    return torch.zeros_like(weights).scatter(-1, ids, ordered * keep)


def uniform(call: Call, number: int) -> float:
    """A number in [0, 1) that depends only on (seed, question, call, position of the token in the output)."""
    key = f"{call.sampling.seed}\0{call.question}\0{call.index}\0{number}"
    return int.from_bytes(hashlib.blake2b(key.encode(), digest_size=7).digest(), "big") / 2**56
