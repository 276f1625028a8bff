"""The protocol: a request for a completion with token probabilities, and its answer, piece by piece as it comes."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from flare_local.engine.call import Call
from flare_local.errors import UsageError
from flare_local.http.client import Client, Lost, Request
from flare_local.served.tokens import Token, Untrue, Vocabulary, read_tokens

STRONGEST = 100.0  # bias that servers take; a banned token gets the negative of it
EVENT, END = b"data:", b"[DONE]"


@dataclass(frozen=True)
class Piece:
    """A part of an answer: usually one token."""

    tokens: tuple[Token, ...]
    text: str  # what the server says they add; may come later than the tokens
    ended: str | None  # stop or length; None: more will come
    prompt_ids: tuple[int, ...] | None  # what the prompt was read as, where the server says so
    prompt_tokens: int | None  # and its length


@dataclass(frozen=True)
class Completions:
    """Completions of one model of one server."""

    client: Client
    model: str  # as the server calls it
    vocabulary: Vocabulary

    def stream(self, request: Request, call: Call, prompt: list[int] | str) -> Iterator[Piece]:
        """One try of a call. Raises `Lost`, `Cut`, `ServerFault` and `Untrue`; stopping to read ends the request."""
        ended = False
        lines = self.client.lines(request, "/completions", self.body(call, prompt))
        try:
            for line in lines:
                if not line.startswith(EVENT):
                    _refuse_other(line)
                    continue
                data = line.removeprefix(EVENT).strip()
                if data == END:
                    break
                piece = self._piece(data)
                ended = ended or piece.ended is not None
                yield piece
        finally:
            lines.close()  # type: ignore[attr-defined]
        if not ended:
            raise Lost("its answer broke off")

    def body(self, call: Call, prompt: list[int] | str) -> dict[str, object]:
        """The body of a request. Units, stop strings and marks are not asked for: this side cuts.

        Fields that a server does not know are passed over by vLLM, SGLang and llama.cpp; others refuse the first
        request, and so are told at once.
        """
        asked: dict[str, object] = {
            "model": self.model,
            "prompt": prompt,
            "max_tokens": call.max_new_tokens,
            "temperature": 0,
            "n": 1,
            "stream": True,
            "stream_options": {"include_usage": True},
            "logprobs": 1,
            "skip_special_tokens": False,
            "add_special_tokens": True,
            "return_token_ids": True,  # vLLM
            "return_tokens_as_token_ids": True,  # vLLM before it knew the former
        }
        if bias := _bias(call):
            asked["logit_bias"] = bias
        return asked

    def _piece(self, data: bytes) -> Piece:
        try:
            said = json.loads(data)
        except ValueError:
            raise Lost("it answered with broken JSON") from None
        if not isinstance(said, Mapping):
            raise Untrue("answers in an unknown form")
        if said.get("error"):
            raise Untrue(f"says {_message(said['error'])!r}")
        usage = said.get("usage")
        counted = usage.get("prompt_tokens") if isinstance(usage, Mapping) else None
        choices = said.get("choices") or []
        choice = choices[0] if isinstance(choices, list) and choices else {}
        if not isinstance(choice, Mapping):
            raise Untrue("answers in an unknown form")
        ids = choice.get("prompt_token_ids") or said.get("prompt_token_ids")
        return Piece(
            tuple(read_tokens(choice, self.vocabulary)),
            str(choice.get("text") or ""),
            choice.get("finish_reason"),
            tuple(ids) if isinstance(ids, list) else None,
            counted if isinstance(counted, int) else None,
        )


def _bias(call: Call) -> dict[str, float]:
    bias = {**{str(token): value for token, value in call.logit_bias.items()}}
    for value in bias.values():
        if abs(value) > STRONGEST:
            raise UsageError(f"A bias of {value:g} is too strong for a server.", f"Take at most {STRONGEST:g}.")
    return bias | {str(token): -STRONGEST for token in call.banned}


def _refuse_other(line: bytes) -> None:
    """An answer that is no stream of events: an object at once, or a page."""
    if line.strip() and not line.startswith((b":", b"event:", b"id:", b"retry:")):
        raise Untrue(f"does not stream its answer; it said {line.decode('utf-8', 'replace').strip()[:100]!r}")


def _message(error: Any) -> str:
    words = error.get("message") if isinstance(error, Mapping) else error
    return " ".join(str(words).split())[:300]
