"""Packed forwards by Triton's kernels: padded to few shapes, each of them recorded once as a CUDA graph and replayed.

A graph launches a whole forward at once; without it a GPU waits for Python between the kernels of a short forward.
Recording itself needs a GPU and is the one part of the engine that no test has run; all around it runs on a CPU too.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch

from flare_local.engine import attention
from flare_local.engine.packing import FEW_ROWS, Buffers, Inputs, Shape, pack
from flare_local.engine.plan import Stretch
from flare_local.engine.pool import KVPool
from flare_local.engine.table_attention import TableContext

STATIC_ROWS = 1024  # new tokens; a larger forward, or one over more keys, gets buffers of its own and no graph
STATIC_KEYS = 1 << 20  # of all sequences of a forward together; 4 MiB
MOST_GRAPHS = 128  # each takes some megabytes
REPEATS_WITHIN = 0.05  # of the logits' size: a graph that differs more from what it recorded is not used

Replay = Callable[[], torch.Tensor]


class PaddedForward:
    """The forwards of one module over one pool."""

    def __init__(self, module: Any, device: torch.device, pool: KVPool) -> None:
        """`device` takes the token ids. Graphs are used where the whole model is on that GPU."""
        self._module = module
        self._device = device
        self._pool = pool
        self._buffers = Buffers(STATIC_ROWS, STATIC_KEYS, device)
        self._graphs: dict[Shape, Replay] = {}
        self._memory: Any = None  # shared by all graphs
        self._logits: torch.Tensor | None = None  # [FEW_ROWS, vocabulary], where every graph leaves its logits
        spread = bool(getattr(module, "hf_device_map", None)) or {layer.device for layer in pool.layers} != {device}
        self._records = device.type == "cuda" and not spread

    def __call__(self, stretches: Sequence[Stretch]) -> torch.Tensor:
        """Logits `[number of reads, vocabulary]`, in the order of stretches and reads; writes K and V."""
        packing = pack(stretches, self._pool.scratch)
        if not self._buffers.hold(packing):
            buffers = Buffers(packing.shape.rows, len(packing.slots), self._device)
            return self._run(buffers.put(packing))[: packing.read]
        inputs = self._buffers.put(packing)
        if packing.shape in self._graphs:
            return self._graphs[packing.shape]()[: packing.read].clone()  # the next replay writes over it
        logits = self._run(inputs)
        if self._records and packing.shape.reads <= FEW_ROWS and len(self._graphs) < MOST_GRAPHS:
            self._keep_graph(packing.shape, inputs, logits)
        return logits[: packing.read]

    def _run(self, inputs: Inputs) -> torch.Tensor:
        with torch.inference_mode(), attention.serving(TableContext(self._pool, inputs)):
            output = self._module(
                input_ids=inputs.ids, position_ids=inputs.positions, use_cache=False, logits_to_keep=inputs.reads
            )
        logits: torch.Tensor = output.logits[0]
        return logits

    def _keep_graph(self, shape: Shape, inputs: Inputs, logits: torch.Tensor) -> None:
        """Records the forward that gave `logits` a moment ago (so all its kernels are compiled) and checks that it
        repeats. A model that cannot be recorded, as it waits for the device inside, runs without graphs from then on.
        """
        try:
            if self._logits is None:
                self._logits = logits.new_empty(FEW_ROWS, logits.shape[1])
            replay = self._record(inputs, self._logits[: shape.reads])
            repeated = torch.allclose(replay(), logits, rtol=REPEATS_WITHIN, atol=REPEATS_WITHIN)
        except RuntimeError:
            repeated = False
        if repeated:
            self._graphs[shape] = replay
        else:
            self._records = False

    def _record(self, inputs: Inputs, out: torch.Tensor) -> Replay:
        """The forward over these places as a graph that leaves its logits in `out`. Never run without a GPU."""
        graph = torch.cuda.CUDAGraph()
        with (
            torch.cuda.device(self._device),
            torch.cuda.graph(graph, pool=self._memory, capture_error_mode="thread_local"),
        ):
            out.copy_(self._run(inputs))
        self._memory = graph.pool()

        def replay() -> torch.Tensor:
            graph.replay()
            return out

        return replay
