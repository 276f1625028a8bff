"""The peer over vLLM with prefix caching, in a process of its own with the interpreter of another venv."""

import json
import math
import os
import subprocess
import threading
from pathlib import Path
from typing import Any

import torch

from benchmarks.peer import Peer
from flare_local.engine.call import Call
from flare_local.engine.counters import Counters
from flare_local.engine.model import LoadedModel
from flare_local.engine.output import Output

SERVER = Path(__file__).with_name("vllm_server.py")
START_SECONDS = 1200.0  # loading and compiling
CONTEXT = 8192  # tokens at most; vLLM would else plan for the model's whole context
KV_GIB = 2


def context_of(model: LoadedModel) -> int:
    """Tokens of prompt and output together that vLLM is asked to hold."""
    return min(model.context_length, CONTEXT)


class VLLMProcess:
    """The process, and one line of JSON to it for each line back. It ends with its standard input, and with us."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.process = process
        self.users = 0

    @classmethod
    def start(cls, python: Path, model: str, dtype: str, context: int, log: Path) -> "VLLMProcess":
        """Starts vLLM with as many threads as torch has here, and waits until it is ready.

        `context`: tokens of the longest prompt and output; `log`: takes what vLLM prints.

        Raises `OSError` where the interpreter cannot be run, `RuntimeError` where vLLM cannot.
        """
        threads = str(torch.get_num_threads())
        environment = os.environ | {
            "OMP_NUM_THREADS": threads,
            "VLLM_CPU_OMP_THREADS_BIND": "nobind",  # else vLLM leaves a core out, for work that a server has
            "VLLM_CPU_KVCACHE_SPACE": str(KV_GIB),
            "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
            "VLLM_NO_USAGE_STATS": "1",
            "HF_HUB_OFFLINE": "1",
        }
        openmp = python.parent.parent / "lib" / "libiomp5.so"
        if openmp.exists():  # as vLLM's documentation advises; the waiting times are those that it sets itself
            environment |= {"LD_PRELOAD": str(openmp), "KMP_BLOCKTIME": "5", "KMP_TPAUSE": "0"}
        with log.open("w", encoding="utf-8") as told:
            process = subprocess.Popen(
                [str(python), str(SERVER), model, dtype, str(context)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=told,
                text=True,
                env=environment,
            )
        impatient = threading.Timer(START_SECONDS, process.kill)
        impatient.start()
        try:
            made = cls(process)
            told_threads = made.hear()["threads"]
            if told_threads != torch.get_num_threads():
                raise RuntimeError(f"it has {told_threads} threads, not {threads}")
        except RuntimeError as error:
            process.kill()
            process.wait()
            raise RuntimeError(f"vLLM did not start: {' '.join(str(error).split())[:300]} (more in {log})") from error
        finally:
            impatient.cancel()
        return made

    def say(self, line: dict[str, Any]) -> None:
        """Sends one request."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(line) + "\n")
        self.process.stdin.flush()

    def hear(self) -> dict[str, Any]:
        """The next answer. Raises `RuntimeError` where vLLM failed or ended."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"its process ended with status {self.process.wait()}")
        told: dict[str, Any] = json.loads(line)
        if "error" in told:
            raise RuntimeError(told["error"])
        return told

    def close(self) -> None:
        """Ends the process."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class VLLM(Peer):
    """vLLM's own scheduler and cache, asked for the chosen tokens and their log probabilities."""

    def __init__(self, name: str, model: LoadedModel, process: VLLMProcess, stop_early: bool) -> None:
        """`stop_early`: it hands over every token and waits for a word whether to go on; else the whole look-ahead.

        Both rows may share one process, which ends with the last of them.
        """
        super().__init__(name, model.codec, model.eos_ids, context_of(model))
        self.process = process
        self.stop_early = stop_early
        process.users += 1

    def write(self, call: Call, output: Output, counters: Counters) -> None:
        while not output.done:  # more than once only where vLLM saw a stop string and `Output` does not
            self.process.say({
                "prompt": [*call.prompt, *output.tokens],
                "tokens": call.max_new_tokens - len(output.tokens),
                "stop": [*call.stop, *call.marks],
                "eos": sorted(self.eos_ids),
                "one_by_one": self.stop_early,
            })  # fmt: skip
            ended = False
            while not ended:
                heard = self.process.hear()
                ended = heard["ended"]
                counters.forwards += heard["steps"]
                for token, logprob in heard["tokens"]:
                    if not output.done:
                        output.push(token, math.exp(logprob))
                if not ended:
                    self.process.say({"go_on": not output.done})

    def reset(self) -> None:
        self.process.say({"reset": True})
        self.process.hear()

    def close(self) -> None:
        self.process.users -= 1
        if self.process.users == 0:
            self.process.close()
