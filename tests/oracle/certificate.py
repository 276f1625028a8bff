"""The certificate for real models: every call of a trace is checked with one fresh forward over all of its tokens.

By induction a certified trace is the naive program's, at a small part of its cost: the oracle's policy runs again, its
model does not generate but judges what the engine emitted, and everything else is computed anew.
"""

import inspect
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from tests.oracle.margin import Margin
from tests.oracle.naive import LOOK_AHEAD, STOPS, Output, choose, finish, led_token
from tests.oracle.options import Options
from tests.oracle.policy import Search, answer
from tests.oracle.tokens import PromptText, TokenText
from tests.oracle.trace import Trace, differences
from tests.oracle.unit import SENTENCE, Unit, first_stop, unit_end

TOLERANCE = {torch.float64: 1e-6, torch.float32: 1e-4}
_WORD = re.compile(r"\s+\S+\s")  # a whole word behind a sentence's end: Punkt's decision is final


class Rejected(AssertionError):
    """The trace is not that of the reference program; the text says where."""


@dataclass(frozen=True)
class Certificate:
    """What was checked of one answer."""

    calls: int
    full: int  # calls whose whole look-ahead was generated before the cut
    tokens: int  # emitted tokens that are the oracle's arg max
    margin: Margin


class JudgingModel:
    """Stands where the naive model stands, but reads the emitted tokens in one forward instead of generating them.

    What lies past the engine's last token is generated until the cut is certain; every `full_every`-th call to the end
    of its look-ahead.
    """

    def __init__(self, model: Any, tokenizer: Any, full_every: int = 0, eos: frozenset[int] | None = None) -> None:
        self.model = model.eval()
        self.text_of = TokenText(tokenizer)
        self.prompt_text = PromptText(tokenizer)
        self.eos = frozenset([tokenizer.eos_token_id]) if eos is None else eos
        self.full_every = full_every
        self.calls = self.full = self.tokens = 0
        names = inspect.signature(model.forward).parameters
        self.cache_name = "cache" if "cache" in names else "past_key_values"

    @property
    def bos(self) -> list[int]:
        return self.prompt_text.bos

    def encode(self, segment: str) -> list[int]:
        return self.prompt_text.encode(segment)

    def forward(self, ids: Sequence[int], wanted: int, cache: Any = None) -> tuple[list[torch.Tensor], Any]:
        """Logits [vocabulary] after each of the last `wanted` ids, and the cache of all."""
        extra = {} if cache is None else {self.cache_name: cache}
        with torch.inference_mode():
            out = self.model(input_ids=torch.tensor([ids]), use_cache=True, logits_to_keep=wanted, **extra)
        return list(out.logits[0, -wanted:]), getattr(out, self.cache_name)

    def generate(
        self,
        prompt: Sequence[int],
        unit: Unit = SENTENCE,
        limit: int = LOOK_AHEAD,
        stops: tuple[str, ...] = STOPS,
        bias: Mapping[int, float] | None = None,
        banned: frozenset[int] = frozenset(),
        marks: tuple[str, ...] = (),
        lead: Mapping[str, Any] | None = None,
        margin: Margin | None = None,
    ) -> Output:
        """The output of the naive program, if `lead` holds a prefix of it; else raises `Rejected`."""
        margin = margin or Margin()
        if unit.kind == "tokens":
            limit = min(limit, unit.value)
        emitted = list(lead["tokens"]) if lead else []
        self.calls += 1
        whole = bool(self.full_every) and self.calls % self.full_every == 1 % self.full_every
        self.full += whole
        if len(emitted) > limit:
            raise Rejected(f"call {self.calls}: {len(emitted)} tokens, and at most {limit} may be generated")
        rows, cache = self.forward([*prompt, *emitted], len(emitted) + 1)
        generated: list[int] = []
        probabilities: list[float] = []
        while len(generated) < limit:
            at = len(generated)
            if at > len(emitted):
                rows, cache = self.forward(generated[-1:], 1, cache)
            row = rows[at] if at < len(emitted) else rows[-1]
            token, probability = choose(row, bias or {}, banned, led_token(lead, at, self.eos), margin)
            if at < len(emitted) and token != emitted[at]:
                raise Rejected(f"call {self.calls}, token {at}: {emitted[at]}, where the arg max is {token}")
            generated.append(token)
            probabilities.append(probability)
            if self._ended(generated, (*stops, *marks)) or (
                at >= len(emitted) and not whole and self._certain(generated, unit, (*stops, *marks))
            ):
                break
        self.tokens += len(emitted)
        return finish(self.text_of, generated, probabilities, unit, limit, stops, self.eos, marks)

    def _ended(self, generated: list[int], stops: tuple[str, ...]) -> bool:
        return generated[-1] in self.eos or first_stop(self.text_of.text(generated), stops) is not None

    def _certain(self, generated: list[int], unit: Unit, stops: tuple[str, ...]) -> bool:
        """Whether no further token can move the cut: a word follows it, longer than any stop string across it."""
        text = self.text_of.text(generated)
        end = unit_end(text, unit)
        if end is None or len(generated) < 2 or len(text) - end < max(map(len, stops), default=0):
            return False
        return unit.kind != "sentence" or _WORD.match(text, end) is not None


def certify(
    model: Any,
    tokenizer: Any,
    search: Search,
    options: Options,
    trace: Trace,
    *,
    full_every: int = 0,
    margin: Margin | None = None,
    eos: frozenset[int] | None = None,
    asker: JudgingModel | None = None,
) -> Certificate:
    """Checks a whole trace (format: `trace.py`); raises `Rejected` at the first call that is not the oracle's.

    `model`: loaded anew, in fp64 or fp32, never the engine's object. `margin`: shared where many answers are checked,
    so that near ties are counted over all of them. `asker`: judges what another model wrote as questions of explicit
    queries; made for this trace.
    """
    margin = margin or Margin(exact=model.dtype == torch.float64)
    judge = JudgingModel(model, tokenizer, full_every, eos)
    own = answer(judge, search, options, trace["question"], lead=trace, margin=margin, asker=asker)
    found = differences(trace, own, TOLERANCE[model.dtype])
    if found:
        raise Rejected("; ".join(found[:5]))
    margin.check()
    judges = [judge] if asker is None else [judge, asker]
    return Certificate(
        calls=sum(each.calls for each in judges),
        full=sum(each.full for each in judges),
        tokens=sum(each.tokens for each in judges),
        margin=margin,
    )
