"""The naive program for tiny models: one plain forward a token, no cache, the whole look-ahead, cut afterwards."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

from tests.oracle.attention import install
from tests.oracle.tokens import PromptText, TokenText
from tests.oracle.unit import SENTENCE, Unit, first_stop, unit_end

LOOK_AHEAD = 64
STOPS = ("\n\n",)


@dataclass(frozen=True)
class Scored:
    """What one forward says of the next token."""

    choice: int  # arg max of the biased logits, the lowest id of a tie
    probability: float  # of the choice, softmax of the unbiased logits
    gap: float  # between the two best biased logits


@dataclass(frozen=True)
class Output:
    """One generation: what is kept, and everything that was generated."""

    tokens: tuple[int, ...]
    probabilities: tuple[float, ...]
    pieces: tuple[str, ...]
    text: str
    stop: str  # boundary, eos, stop or length
    eos_probability: float | None
    generated: tuple[int, ...]  # before any cut, EOS included
    gaps: tuple[float, ...]  # of the generated tokens


def score(logits: torch.Tensor, bias: Mapping[int, float], banned: frozenset[int]) -> Scored:
    """`logits` [vocabulary] of the next token."""
    wide = logits if logits.dtype == torch.float64 else logits.float()
    biased = wide.clone()
    for token, value in bias.items():
        biased[token] += value
    for token in banned:
        biased[token] = float("-inf")
    best = torch.topk(biased, 2).values
    choice = int((biased == best[0]).nonzero()[0])
    return Scored(choice, float(torch.softmax(wide, dim=-1)[choice]), float(best[0] - best[1]))


def finish(
    text_of: TokenText,
    generated: list[int],
    probabilities: list[float],
    gaps: list[float],
    unit: Unit,
    limit: int,
    stops: tuple[str, ...],
    eos: frozenset[int],
) -> Output:
    """The rules of one generation, applied to everything that was generated."""
    content, eos_probability, ended = list(generated), None, "length"
    if content and content[-1] in eos:
        content.pop()
        eos_probability, ended = probabilities[len(content)], "eos"
    several = len(content) > 1
    text = text_of.text(content)
    stop_at = first_stop(text, stops)
    if stop_at is not None:
        content, text, ended = content[: text_of.keep(content, stop_at)], text[:stop_at], "stop"
    end = unit_end(text, unit) if several or unit.kind != "sentence" else None
    if end is not None:
        content, ended = content[: text_of.keep(content, end)], "boundary"
        text = text_of.text(content)
    elif unit.kind == "tokens" and ended == "length" and len(content) == unit.value <= limit:
        ended = "boundary"
    count = len(content)
    return Output(
        tokens=tuple(content),
        probabilities=tuple(probabilities[:count]),
        pieces=tuple(text_of.pieces(content)),
        text=text,
        stop=ended,
        eos_probability=eos_probability if ended == "eos" else None,
        generated=tuple(generated),
        gaps=tuple(gaps),
    )


class NaiveModel:
    """A tiny model and its tokenizer. Forwards of the very same ids are done once; nothing of a prefix is reused."""

    def __init__(self, model: Any, tokenizer: Any, eos: frozenset[int] | None = None) -> None:
        install(model)
        self.model = model.eval()
        self.text_of = TokenText(tokenizer)
        self.prompt_text = PromptText(tokenizer)
        self.eos = frozenset([tokenizer.eos_token_id]) if eos is None else eos
        self.seen: dict[tuple[int, ...], torch.Tensor] = {}
        self.calls: list[tuple[tuple[int, ...], Output]] = []

    def encode(self, segment: str) -> list[int]:
        return self.prompt_text.encode(segment)

    def logits(self, ids: tuple[int, ...]) -> torch.Tensor:
        """Logits [vocabulary] of the token after `ids`."""
        if ids not in self.seen:
            with torch.inference_mode():
                self.seen[ids] = self.model(input_ids=torch.tensor([ids]), use_cache=False).logits[0, -1]
        return self.seen[ids]

    def generate(
        self,
        prompt: list[int] | tuple[int, ...],
        unit: Unit = SENTENCE,
        limit: int = LOOK_AHEAD,
        stops: tuple[str, ...] = STOPS,
        bias: Mapping[int, float] | None = None,
        banned: frozenset[int] = frozenset(),
    ) -> Output:
        """Greedy continuation of `prompt`, at most `limit` tokens before the cut."""
        if unit.kind == "tokens":
            limit = min(limit, unit.value)
        generated: list[int] = []
        probabilities: list[float] = []
        gaps: list[float] = []
        while len(generated) < limit:
            scored = score(self.logits((*prompt, *generated)), bias or {}, banned)
            generated.append(scored.choice)
            probabilities.append(scored.probability)
            gaps.append(scored.gap)
            if scored.choice in self.eos or first_stop(self.text_of.text(generated), stops) is not None:
                break
        output = finish(self.text_of, generated, probabilities, gaps, unit, limit, stops, self.eos)
        self.calls.append((tuple(prompt), output))
        return output
