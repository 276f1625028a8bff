"""The peer over Transformers' continuous batching: one manager, whose paged cache shares prefixes in whole pages."""

import math
from typing import Any

from benchmarks.hugging_face import Plain
from benchmarks.peer import Peer
from flare_local.engine.call import Call
from flare_local.engine.counters import Counters
from flare_local.engine.output import Output

PAGE = 64  # tokens; a quarter of the default, so that more of a prefix is shared
POOL = 16384  # tokens
WAIT = 600.0  # seconds without a token after which the manager counts as hung


class ContinuousBatching(Peer):
    """Owns the manager and its thread, which start with the first call."""

    def __init__(self, name: str, plain: Plain, stop_early: bool) -> None:
        """`stop_early`: read each token as it comes and cancel the request where the sentence ends."""
        super().__init__(name, plain.of.codec, plain.of.eos_ids, plain.of.context_length)
        self.plain = plain
        self.stop_early = stop_early
        self.requests = 0
        self.manager: Any = None

    def write(self, call: Call, output: Output, counters: Counters) -> None:
        manager = self.manager or self._start()
        self.requests += 1
        request = f"{self.name} {self.requests}"
        manager.add_request(
            list(call.prompt),
            request,
            call.max_new_tokens,
            streaming=self.stop_early,
            eos_token_id=sorted(self.eos_ids),
        )
        read = 0
        while not output.done:
            result = manager.get_result(timeout=WAIT)
            if result is None or result.error is not None:
                raise RuntimeError(f"continuous batching gave no token: {manager.background_thread_status.fatal_error}")
            if result.request_id != request:  # the last words of a request that was cancelled
                continue
            for token, logprob in list(zip(result.generated_tokens, result.logprobs, strict=True))[read:]:
                read += 1
                if not output.done:
                    output.push(token, math.exp(logprob))
        if not result.is_finished():
            manager.cancel_request(request)
        self.plain.take_counts(counters)

    def _start(self) -> Any:
        from transformers import ContinuousBatchingConfig, GenerationConfig

        self.manager = self.plain.model.init_continuous_batching(
            generation_config=GenerationConfig(do_sample=False, eos_token_id=sorted(self.eos_ids)),
            continuous_batching_config=ContinuousBatchingConfig(
                page_size=PAGE, num_blocks=POOL // PAGE, max_batch_tokens=4096, return_logprobs=True
            ),
        )
        self.manager.start()
        return self.manager

    def reset(self) -> None:
        self.close()

    def close(self) -> None:
        if self.manager is not None:
            self.manager.stop(block=True, timeout=WAIT)
            self.manager.destroy()
            self.manager = None
