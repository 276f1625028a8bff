"""A conformance server: the completions protocol as vLLM 0.32 was seen to speak it, and as llama.cpp's and SGLang's
documentation writes it, over real sockets, backed by a tiny model that Transformers runs unmodified.

It is not one of those servers; `test_real_server.py` compares a real one with the engine, where one is given.
"""

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import torch

from tests.loopback import Asked, Said
from tests.tiny_models import tiny_model, tiny_tokenizer

NAME = "tiny"
FORMS = ("vllm", "named", "llama.cpp", "texts")  # how tokens are written


@dataclass
class CompletionsServer:
    """Answers `/v1/models` and `/v1/completions`. What it does wrong is set in its fields."""

    form: str = "vllm"
    takes_ids: bool = True
    usage: bool = True
    extra: dict[str, Any] = field(default_factory=dict)  # of its entry in /v1/models
    after_bias: bool = False  # probabilities after the bias
    ignores_bias: bool = False
    shift: float = 0.0  # added to every log probability
    second_best: bool = False  # chooses it
    no_logprobs: bool = False
    id_shift: int = 0  # added to every id of an answer
    hides_end: bool = False  # shows no token for the end of an answer
    kind: str = "bytes"
    arch: str = "llama"
    generated: int = 0  # tokens over all answers
    at_once: int = 0
    most_at_once: int = 0

    def __post_init__(self) -> None:
        self.tokenizer = tiny_tokenizer(self.kind)
        self.model = tiny_model(self.arch, torch.float32, kind=self.kind)
        self._lock = threading.Lock()

    def __call__(self, asked: Asked) -> Said:
        if asked.path.endswith("/models"):
            return Said(body=json.dumps({"data": [{"id": NAME, **self.extra}]}).encode())
        if not asked.path.endswith("/completions"):
            return Said(404)
        body = json.loads(asked.body)
        prompt = body["prompt"]
        if not self.takes_ids and not isinstance(prompt, str):
            return Said(400, b'{"error": {"message": "prompt must be a text"}}')
        ids = self.tokenizer(prompt)["input_ids"] if isinstance(prompt, str) else prompt
        if max(ids) >= len(self.tokenizer):
            return Said(400, b'{"error": {"message": "Token id is out of vocabulary"}}')
        assert body["stream"]
        assert body["temperature"] == 0
        return Said(body=self._events(list(ids), body), kind="text/event-stream")

    def _events(self, ids: list[int], body: dict[str, Any]) -> Iterator[bytes]:
        with self._lock:
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        last = False
        try:
            asked = len(ids)
            for number in range(body["max_tokens"]):
                token, choice = self._next(ids, body.get("logit_bias", {}))
                ended = token == self.tokenizer.eos_token_id
                last = ended or number == body["max_tokens"] - 1
                choice |= {"index": 0, "finish_reason": ("stop" if ended else "length") if last else None}
                if ended:
                    choice["text"] = ""
                if ended and self.hides_end:
                    choice |= {"logprobs": None, "token_ids": None}
                if self.form == "vllm" and number == 0:
                    choice["prompt_token_ids"] = ids
                if last:
                    self._leave()
                yield _event({"choices": [choice]})
                ids = [*ids, token]
                if last:
                    break
            if self.usage:
                yield _event({"choices": [], "usage": {"prompt_tokens": asked}})
            yield b"data: [DONE]\n\n"
        finally:
            if not last:
                self._leave()

    def _leave(self) -> None:
        with self._lock:
            self.at_once -= 1

    @torch.no_grad()
    def _next(self, ids: list[int], bias: dict[str, float]) -> tuple[int, dict[str, Any]]:
        with self._lock:
            self.generated += 1
            logits = self.model(torch.tensor([ids])).logits[0, -1].float()
        biased = logits.clone()
        if not self.ignores_bias:
            for token, value in bias.items():
                biased[int(token)] += value
        order = biased.argsort(descending=True, stable=True)
        token = int(order[1 if self.second_best else 0])
        logs = (biased if self.after_bias else logits).log_softmax(-1)
        log, best = float(logs[token]) + self.shift, int(logs.argmax())
        return token, self._written(token, log, best, float(logs[best]) + self.shift)

    def _written(self, token: int, log: float, best: int, best_log: float) -> dict[str, Any]:
        shown = token + self.id_shift
        text = self.tokenizer.decode([token], skip_special_tokens=False)
        if self.no_logprobs:
            return {"text": text, "logprobs": None}
        if self.form == "llama.cpp":
            top = [{"id": best, "token": "", "logprob": best_log}]
            return {
                "text": text,
                "logprobs": {"content": [{"id": shown, "token": text, "logprob": log, "top_logprobs": top}]},
            }
        name = {"vllm": text, "named": f"token_id:{shown}", "texts": text}[self.form]
        best_name = f"token_id:{best}" if self.form == "named" else self.tokenizer.decode([best])
        listed = {"tokens": [name], "token_logprobs": [log], "top_logprobs": [{name: log, best_name: best_log}]}
        ids = {"token_ids": [shown]} if self.form == "vllm" else {}
        return {"text": text, "logprobs": listed, **ids}


def events(*choices: dict[str, Any]) -> bytes:
    """A stream as a whole, written by hand."""
    return b"".join(_event({"choices": [choice]}) for choice in choices)


def chosen(token: int, probability_log: float, **more: Any) -> dict[str, Any]:
    """A piece of one token."""
    listed = {"tokens": [f"token_id:{token}"], "token_logprobs": [probability_log], "top_logprobs": None}
    return {"text": "", "token_ids": [token], "logprobs": listed, "finish_reason": None, **more}


def _event(said: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(said).encode() + b"\n\n"
