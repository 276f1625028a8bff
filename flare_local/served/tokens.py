"""Tokens as servers write them, made true ids and probabilities, or refused.

vLLM gives `token_ids` beside each text, or tokens named `token_id:198`; llama.cpp gives `content` with an `id` a token;
others give texts alone, and a text is an id only where one token of the vocabulary has it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import exp, isfinite
from typing import Any

from flare_local.engine.text import TextCodec

NAMED = "token_id:"
ROUNDING = 1e-3  # by which a log probability may lie above 0, or above the best, since servers round


class Untrue(Exception):
    """What a server says cannot be so; the text completes "The model server ... "."""


@dataclass(frozen=True)
class Token:
    """One generated token."""

    id: int
    log: float  # natural logarithm of its probability; at most 0
    best: float | None  # the highest one that the server lists for this place, if it lists any

    @property
    def probability(self) -> float:
        """In (0, 1]; a log probability too low for a float's exponent is the smallest float."""
        return max(exp(self.log), 5e-324)

    @property
    def is_best(self) -> bool:
        """Whether no other token is listed as more probable."""
        return self.best is None or self.log >= self.best - ROUNDING


@dataclass(frozen=True)
class Vocabulary:
    """Ids of tokens by their text, for servers that name no ids."""

    codec: TextCodec

    def id_of(self, text: str) -> int:
        """Raises `Untrue` where no token has this text, or several have."""
        found = self._ids.get(text, [])
        if len(found) == 1:
            return found[0]
        many = "several tokens" if found else "no token"
        raise Untrue(f"names a token by its text {text!r}, which {many} of the tokenizer of --model has")

    @cached_property
    def _ids(self) -> dict[str, list[int]]:
        ids: dict[str, list[int]] = {}
        for token in range(len(self.codec.tokenizer)):
            ids.setdefault(self.codec.tokenizer.decode([token], clean_up_tokenization_spaces=False), []).append(token)
        return ids


def read_tokens(choice: Mapping[str, Any], vocabulary: Vocabulary) -> list[Token]:
    """The tokens of one choice of an answer, or of one piece of a stream. Raises `Untrue`."""
    listed = choice.get("logprobs")
    if not isinstance(listed, Mapping):
        if not choice.get("text") and not choice.get("token_ids"):
            return []
        raise Untrue("returns no token probabilities")
    content = listed.get("content")
    if isinstance(content, list):
        return [_of_content(entry, vocabulary) for entry in content]
    names, logs = listed.get("tokens"), listed.get("token_logprobs")
    if not isinstance(names, list) or not isinstance(logs, list) or len(names) != len(logs):
        raise Untrue("returns token probabilities without their tokens")
    ids = choice.get("token_ids")
    if ids is None:
        ids = [_named(name, vocabulary) for name in names]
    if not isinstance(ids, list) or len(ids) != len(logs):
        raise Untrue(f"returns {len(logs)} probabilities for another number of token ids")
    tops = listed.get("top_logprobs") or [None] * len(logs)
    if not isinstance(tops, list) or len(tops) != len(logs):
        raise Untrue("returns top probabilities for another number of tokens")
    return [_token(i, log, _values(top), vocabulary) for i, log, top in zip(ids, logs, tops, strict=True)]


def _of_content(entry: Any, vocabulary: Vocabulary) -> Token:
    if not isinstance(entry, Mapping):
        raise Untrue("returns token probabilities in an unknown form")
    token = entry.get("id")
    if token is None:
        token = _named(entry.get("token"), vocabulary)
    top = entry.get("top_logprobs") or []
    return _token(token, entry.get("logprob"), [each.get("logprob") for each in top], vocabulary)


def _named(name: Any, vocabulary: Vocabulary) -> int:
    if not isinstance(name, str):
        raise Untrue("returns tokens that are no texts")
    if name.startswith(NAMED) and name.removeprefix(NAMED).isdecimal():
        return int(name.removeprefix(NAMED))
    return vocabulary.id_of(name)


def _values(top: Any) -> Sequence[Any]:
    return list(top.values()) if isinstance(top, Mapping) else []


def _token(token: Any, log: Any, top: Sequence[Any], vocabulary: Vocabulary) -> Token:
    if type(token) is not int or not 0 <= token < len(vocabulary.codec.tokenizer):
        raise Untrue(f"returns the token id {str(token)[:40]}, which the tokenizer of --model does not have")
    for number in (log, *top):
        if type(number) not in (int, float) or not isfinite(number) or number > ROUNDING:
            raise Untrue(f"returns a log probability of {str(number)[:40]}")
    if sum(exp(each) for each in top) > 1.01:
        raise Untrue("returns probabilities that sum to more than 1")
    return Token(token, min(0.0, float(log)), max(map(float, top), default=None))
