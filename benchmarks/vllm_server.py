"""vLLM behind two pipes, for `vllm_peer`: runs in vLLM's venv, which need not have this project.

python vllm_server.py MODEL DTYPE CONTEXT. One request of JSON a line on standard input, one or more answers on
standard output; all that vLLM itself prints goes to standard error. The engine runs in this process, and dies with
the one that started it.
"""

import ctypes
import json
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

Say = Callable[[dict[str, Any]], None]
PR_SET_PDEATHSIG = 1  # Linux, prctl(2)


def main() -> None:
    parent = os.getppid()
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            return
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def say(line: dict[str, Any]) -> None:
        answers.write(json.dumps(line) + "\n")
        answers.flush()

    try:
        import torch
        from vllm.engine.arg_utils import EngineArgs
        from vllm.v1.engine.llm_engine import LLMEngine

        model, dtype, context = sys.argv[1:]
        engine = LLMEngine.from_engine_args(
            EngineArgs(
                model=model, dtype=dtype, max_model_len=int(context), enable_prefix_caching=True, disable_log_stats=True
            )
        )
    except Exception as error:
        say({"error": f"{type(error).__name__}: {error}"})
        return
    say({"threads": torch.get_num_threads()})
    for number, line in enumerate(sys.stdin):
        request = json.loads(line)
        try:
            if "reset" in request:
                say({"reset": engine.reset_prefix_cache()})
            else:
                answer(engine, str(number), request, say)
        except Exception as error:
            say({"error": f"{type(error).__name__}: {error}"})
    os._exit(0)  # vLLM's own farewell takes longer than anyone waits for it


def answer(engine: Any, name: str, request: dict[str, Any], say: Say) -> None:
    """Runs one request, greedily. One by one, each token is told and an answer awaited: go on, or abort."""
    from vllm import SamplingParams
    from vllm.sampling_params import RequestOutputKind

    one_by_one = request["one_by_one"]
    params = SamplingParams(
        temperature=0.0,
        max_tokens=request["tokens"],
        logprobs=0,  # of the chosen token only
        stop=request["stop"] or None,
        stop_token_ids=request["eos"],
        output_kind=RequestOutputKind.DELTA if one_by_one else RequestOutputKind.FINAL_ONLY,
    )
    engine.add_request(name, {"prompt_token_ids": request["prompt"]}, params)
    steps = 0
    while engine.has_unfinished_requests():
        outputs = engine.step()
        steps += 1
        for output in outputs:
            if output.request_id != name:
                continue
            [completion] = output.outputs
            chosen = zip(completion.token_ids, completion.logprobs, strict=True)
            tokens = [(token, scores[token].logprob) for token, scores in chosen]
            say({"tokens": tokens, "steps": steps, "ended": output.finished})
            steps = 0
            if not output.finished and not json.loads(sys.stdin.readline())["go_on"]:
                engine.abort_request([name])
                while engine.has_unfinished_requests():
                    engine.step()
                say({"tokens": [], "steps": 0, "ended": True})
                return


if __name__ == "__main__":
    main()
