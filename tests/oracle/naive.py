"""The naive program for tiny models: one plain forward a token, no cache, the whole look-ahead, cut afterwards."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

from tests.oracle.attention import install
from tests.oracle.margin import Margin
from tests.oracle.tokens import PromptText, TokenText
from tests.oracle.unit import SENTENCE, Unit, first_mark, first_stop, unit_end

LOOK_AHEAD = 64
STOPS = ("\n\n",)


@dataclass(frozen=True)
class Output:
    """One generation: what is kept, and everything that was generated."""

    tokens: tuple[int, ...]
    probabilities: tuple[float, ...]
    pieces: tuple[str, ...]
    text: str
    stop: str  # boundary, eos, stop, mark or length
    eos_probability: float | None
    generated: tuple[int, ...]  # before any cut, EOS included


def widened(logits: torch.Tensor) -> torch.Tensor:
    """Logits in fp32, or in their own dtype where that is wider."""
    return logits if logits.dtype == torch.float64 else logits.float()


def choose(
    logits: torch.Tensor,
    bias: Mapping[int, float],
    banned: frozenset[int],
    theirs: int | None,
    margin: Margin,
) -> tuple[int, float]:
    """Next token and its unbiased probability, from `logits` [vocabulary]; ties go to the lowest id."""
    wide = widened(logits)
    biased = wide.clone()
    for token, value in bias.items():
        biased[token] += value
    for token in banned:
        biased[token] = float("-inf")
    own = int((biased == biased.max()).nonzero()[0])
    distance = float("inf") if theirs is None else float(biased[own] - biased[theirs])
    choice = margin.token(own, theirs, distance)
    return choice, float(torch.softmax(wide, dim=-1)[choice])


def led_token(lead: Mapping[str, Any] | None, at: int, eos: frozenset[int]) -> int | None:
    """What the engine chose at this place, as far as its trace tells."""
    if lead is None:
        return None
    if at < len(lead["tokens"]):
        return int(lead["tokens"][at])
    return min(eos) if at == len(lead["tokens"]) and lead["stop"] == "eos" else None


def finish(
    text_of: TokenText,
    generated: list[int],
    probabilities: list[float],
    unit: Unit,
    limit: int,
    stops: tuple[str, ...],
    eos: frozenset[int],
    marks: tuple[str, ...] = (),
) -> Output:
    """The rules of one generation, applied to everything that was generated."""
    content, eos_probability, ended = list(generated), None, "length"
    if content and content[-1] in eos:
        content.pop()
        eos_probability, ended = probabilities[len(content)], "eos"
    several = len(content) > 1
    text = text_of.text(content)
    stop_at = first_stop(text, stops)
    mark_end = first_mark(text, marks, stop_at)
    if mark_end is not None:
        content, text, ended = content[: text_of.keep(content, mark_end)], text[:mark_end], "mark"
    elif stop_at is not None:
        content, text, ended = content[: text_of.keep(content, stop_at)], text[:stop_at], "stop"
    end = unit_end(text, unit) if several or unit.kind != "sentence" else None
    if end is not None:
        content, ended = content[: text_of.keep(content, end)], "boundary"
        text = text_of.text(content)
    elif ended == "mark":
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

    @property
    def bos(self) -> list[int]:
        return self.prompt_text.bos

    def encode(self, segment: str) -> list[int]:
        return self.prompt_text.encode(segment)

    def logits(self, ids: tuple[int, ...]) -> torch.Tensor:
        """Logits [vocabulary] of the token after `ids`."""
        if ids not in self.seen:
            with torch.inference_mode():
                output = self.model(input_ids=torch.tensor([ids]), use_cache=False, logits_to_keep=1)
            self.seen[ids] = output.logits[0, -1]
        return self.seen[ids]

    def generate(
        self,
        prompt: list[int] | tuple[int, ...],
        unit: Unit = SENTENCE,
        limit: int = LOOK_AHEAD,
        stops: tuple[str, ...] = STOPS,
        bias: Mapping[int, float] | None = None,
        banned: frozenset[int] = frozenset(),
        marks: tuple[str, ...] = (),
        lead: Mapping[str, Any] | None = None,
        margin: Margin | None = None,
    ) -> Output:
        """Greedy continuation of `prompt`, at most `limit` tokens before the cut."""
        margin = margin or Margin(exact=True)
        if unit.kind == "tokens":
            limit = min(limit, unit.value)
        generated: list[int] = []
        probabilities: list[float] = []
        while len(generated) < limit:
            theirs = led_token(lead, len(generated), self.eos)
            token, probability = choose(self.logits((*prompt, *generated)), bias or {}, banned, theirs, margin)
            generated.append(token)
            probabilities.append(probability)
            if token in self.eos or first_stop(self.text_of.text(generated), (*stops, *marks)) is not None:
                break
        output = finish(self.text_of, generated, probabilities, unit, limit, stops, self.eos, marks)
        self.calls.append((tuple(prompt), output))
        return output
