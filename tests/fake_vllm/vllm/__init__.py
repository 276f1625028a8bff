"""A stand-in for vLLM: what `benchmarks/vllm_server.py` calls of it, over a Transformers model, token by token."""

from vllm.sampling_params import SamplingParams

__all__ = ["SamplingParams"]
