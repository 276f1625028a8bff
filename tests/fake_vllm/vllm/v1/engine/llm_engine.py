"""One request at a time, one token a step; stop strings are not looked for."""

from types import SimpleNamespace
from typing import Any

import torch
from transformers import AutoModelForCausalLM

from vllm.sampling_params import RequestOutputKind


class LLMEngine:
    """Greedy, without a cache."""

    def __init__(self, model: str) -> None:
        self.model = AutoModelForCausalLM.from_pretrained(model)
        self.name = ""
        self.ids: list[int] = []
        self.told: list[tuple[int, float]] = []
        self.params: Any = None

    @classmethod
    def from_engine_args(cls, args: Any) -> "LLMEngine":
        assert args.enable_prefix_caching
        return cls(args.model)

    def add_request(self, name: str, prompt: dict[str, list[int]], params: Any) -> None:
        assert not self.name
        self.name, self.ids, self.told, self.params = name, list(prompt["prompt_token_ids"]), [], params

    def has_unfinished_requests(self) -> bool:
        return bool(self.name)

    def abort_request(self, names: list[str]) -> None:
        assert names == [self.name]
        self.name = ""

    def reset_prefix_cache(self) -> bool:
        return True

    @torch.inference_mode()
    def step(self) -> list[Any]:
        scores = self.model(torch.tensor([self.ids])).logits[0, -1].float().log_softmax(-1)
        token = int(scores.argmax())
        self.ids.append(token)
        self.told.append((token, float(scores[token])))
        finished = token in self.params.stop_token_ids or len(self.told) == self.params.max_tokens
        one_by_one = self.params.output_kind is RequestOutputKind.DELTA
        if not one_by_one and not finished:
            return []
        new = self.told[-1:] if one_by_one else self.told
        completion = SimpleNamespace(
            token_ids=[token for token, _ in new],
            logprobs=[{token: SimpleNamespace(logprob=score)} for token, score in new],
        )
        output = SimpleNamespace(request_id=self.name, outputs=[completion], finished=finished)
        self.name = "" if finished else self.name
        return [output]
