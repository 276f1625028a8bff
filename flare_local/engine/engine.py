"""The engine as its users see it: a model, a pool, and one verb."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from flare_local.engine.call import Call, Generation, Watch
from flare_local.engine.counters import Counters
from flare_local.engine.forward import PackedForward
from flare_local.engine.kernels import Kernels
from flare_local.engine.loop import Loop
from flare_local.engine.output import Output
from flare_local.engine.packed_linear import pack_linears
from flare_local.engine.pool import KVPool
from flare_local.engine.pool_use import PoolUse
from flare_local.engine.speculation import MEASURED, Speculation
from flare_local.engine.text import ChatFrame, TextCodec
from flare_local.errors import PoolTooSmall, PromptTooLong, UsageError
from flare_local.spans import Kind, span

if TYPE_CHECKING:
    from flare_local.engine.model import LoadedModel
    from flare_local.engine.snapshot import Ids, Snapshot
    from flare_local.engine.snapshot_file import SnapshotFile

# Tokens of a prefill chunk: bounds the memory of one forward, and how long other calls wait for it.
MAX_FORWARD_TOKENS = 512


class Engine:
    """Generates with one model for any number of questions at once; every shared prefix is computed once.

    Results do not depend on what is cached, on other calls, or on proposals (docs/exactness.md says how exactly).
    """

    def __init__(
        self,
        model: "LoadedModel",
        *,
        slots: int | None = None,
        kv_memory: str | None = None,
        most_slots: int | None = None,
        reuse: bool = True,
        max_forward_tokens: int = MAX_FORWARD_TOKENS,
        speculation: Speculation = MEASURED,
        kernels: Kernels = "auto",
        poison: bool = False,
    ) -> None:
        """`slots`: tokens that the pool holds; without it `kv_memory` says how much memory it may take ("2GiB", or a
        share of what is free, as "0.3"), and `most_slots` how many tokens it holds at most. `reuse=False`: no reuse
        between calls, the naive baseline. `speculation`: what is proposed, and whether only where it is expected to
        pay. `kernels`: plain torch or Triton's ("auto": these on NVIDIA GPUs). `poison`: free slots hold NaN (tests).

        Raises `ModelRefused` for layers that the engine cannot serve, `OutOfMemory` where the pool does not fit, and
        `UsageError` for kernels that cannot run here.
        """
        from flare_local.engine.memory import slots_for

        self.model = model
        self.reuse = reuse
        self.warmed: tuple[Ids, ...] = ()  # prefixes that snapshots brought
        with span(Kind.POOL, "what a layer stores"):
            forward = PackedForward(model.module, model.device, kernels)
            layers = forward.probe()
        if slots is None:
            slots = slots_for(kv_memory, layers, model)
            slots = slots if most_slots is None else min(slots, most_slots)
        with span(Kind.POOL, "KV pool"):
            self.pool = KVPool(layers, slots, poison=poison)
        self._loop = Loop(
            forward,
            self.pool,
            lambda call: Output(call, model.codec, model.eos_ids),
            reuse=reuse,
            max_forward_tokens=max_forward_tokens,
            speculation=speculation,
        )

    @classmethod
    def load(
        cls,
        name: str,
        *,
        dtype: str = "auto",
        device: str = "auto",
        device_map: str | None = None,
        revision: str | None = None,
        trust_remote_code: bool = False,
        allow_pickle: bool = False,
        offload_folder: str | None = None,
        context: int | None = None,
        kv_memory: str | None = None,
        most_slots: int | None = None,
        reuse: bool = True,
        max_forward_tokens: int = MAX_FORWARD_TOKENS,
        kernels: Kernels = "auto",
        speculation: Speculation = MEASURED,
        pack: bool = True,
        warm: str | Path | None = None,
    ) -> "Engine":
        """Loads a hub name, a folder with safetensors, or a GGUF file, checks that the engine runs it exactly, and
        makes the pool. `speculation`: see `Engine`. `pack`: on the CPU, linear layers get the layout that is
        multiplied fastest (packed_linear.py). `warm`: a snapshot to begin with, see `warm`.

        Raises `ModelError` or `ModelRefused` with the reason.
        """
        with span(Kind.IMPORTS, "transformers"):
            from flare_local.engine.model import load_model
            from flare_local.engine.self_check import check_model

        snapshot = None if warm is None else _opened(warm, reuse)  # a wrong file is told before the weights are read
        model = load_model(
            name,
            dtype=dtype,
            device=device,
            device_map=device_map,
            revision=revision,
            trust_remote_code=trust_remote_code,
            allow_pickle=allow_pickle,
            offload_folder=offload_folder,
            context=context,
        )
        with span(Kind.CHECK, "self-check"):
            check_model(model, kernels)
        if pack:
            with span(Kind.MODEL, "pack"):
                pack_linears(model.module)
        engine = cls(
            model,
            kv_memory=kv_memory,
            most_slots=most_slots,
            reuse=reuse,
            max_forward_tokens=max_forward_tokens,
            kernels=kernels,
            speculation=speculation,
        )
        if snapshot is not None:
            try:
                with span(Kind.POOL, "snapshot"):
                    engine._take(snapshot)
            except BaseException:
                engine.close()
                raise
        return engine

    def question(self, question_id: str, chat: bool = False) -> "Question":
        """The model as the policy of one question sees it. The id keys the random numbers of sampling.

        `chat` puts prompts into the model's chat template; raises `ModelError` where there is none.
        """
        return Question(self, question_id, self.model.codec.chat_frame() if chat else None)

    def warm(self, path: str | Path) -> int:
        """Loads the snapshot at `path` into the pool, as prefixes that are evicted like any other; says how many tokens
        are new. Raises `SnapshotFault` where it was not written for this very model and these versions, or is broken;
        `PoolTooSmall`; `UsageError` without reuse. Nothing of a refused file is used.
        """
        return self._take(_opened(path, self.reuse))

    def save_warm(self, path: "str | Path | SnapshotFile", prefixes: "Iterable[Ids]") -> int:
        """Computes what is not known of `prefixes` and writes a snapshot of all to `path`; says how many bytes it has.

        Raises `PromptTooLong`, `PoolTooSmall`, `DiskFull`, and `UsageError` where `path` is another file.
        """
        from flare_local.engine.snapshot import distinct
        from flare_local.engine.snapshot_file import SnapshotFile
        from flare_local.engine.snapshot_header import Header
        from flare_local.engine.warm import check_room, collect

        _check_reuse(self.reuse)
        file = SnapshotFile(Path(path)) if isinstance(path, str | Path) else path
        kept = distinct(prefixes)
        check_room(kept, self.pool)
        for ids in kept:  # in turn: the same chunks as in a call that begins with these tokens
            call = Call(ids, max_new_tokens=1, ahead=True)
            self._check_fits(call)
            self._loop.submit(call).result()
        tensors = self._loop.between_forwards(partial(collect, prefixes=kept)).result()
        return file.write(Header.of(self.model, self.pool.layers), tensors)

    def _take(self, snapshot: "Snapshot") -> int:
        from flare_local.engine.snapshot_header import Header
        from flare_local.engine.warm import check_room

        snapshot.check(Header.of(self.model, self.pool.layers), self.model.vocab_size, self.pool)
        check_room(snapshot.prefixes, self.pool)
        new = self._loop.load(snapshot).result()
        self.warmed += snapshot.prefixes
        return new

    async def generate(self, call: Call) -> Generation:
        """Runs one call. Raises `PromptTooLong` or `PoolTooSmall` before any work."""
        self._check_fits(call)
        return await asyncio.wrap_future(self._loop.submit(call))

    def _check_fits(self, call: Call) -> None:
        needed = len(call.prompt) + call.max_new_tokens
        if needed > self.model.context_length:
            raise PromptTooLong(
                f"A prompt of {len(call.prompt)} tokens and {call.max_new_tokens} new ones do not fit the context of "
                f"{self.model.name}: {self.model.context_length} tokens.",
                "Use fewer or shorter exemplars, a smaller --top-k, or a model with a longer context.",
            )
        if needed > self.pool.slots:
            raise PoolTooSmall(
                f"One sequence needs {needed} slots; the KV pool has {self.pool.slots}.",
                f"Raise --kv-memory so that it holds {needed} tokens.",
            )

    @property
    def pool_use(self) -> PoolUse:
        """The most slots that were needed so far."""
        return self._loop.use

    def close(self) -> None:
        """Ends the engine's thread. Calls on their way are cancelled."""
        with span(Kind.CLOSE, "engine"):
            self._loop.close()

    def __enter__(self) -> "Engine":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@dataclass
class Question:
    """A `LanguageModel` for one question: numbers its calls and adds up what they cost."""

    engine: Engine
    id: str
    frame: ChatFrame | None = None
    counters: Counters = field(default_factory=Counters)
    calls: int = 0
    watch: Watch | None = None

    @property
    def codec(self) -> TextCodec:
        return self.engine.model.codec

    @property
    def bos(self) -> tuple[int, ...]:
        return self.codec.bos if self.frame is None else self.frame.head

    @property
    def tail(self) -> tuple[int, ...]:
        return () if self.frame is None else self.frame.tail

    @property
    def context_length(self) -> int:
        return self.engine.model.context_length

    async def generate(self, call: Call) -> Generation:
        """Runs the call as this question's next; see `LanguageModel`."""
        call = replace(call, question=self.id, index=self.calls, watch=self.watch)
        self.calls += 1
        generation = await self.engine.generate(call)
        self.counters.add(generation.counters)
        return generation

    async def read_ahead(self, prompt: tuple[int, ...]) -> Counters:
        """Has `prompt` in the pool and its first token known; see `WatchedModel`."""
        if not self.engine.reuse:  # no other call would see it
            return Counters()
        generation = await self.engine.generate(Call(prompt, max_new_tokens=1, question=self.id, ahead=True))
        cost = replace(generation.counters, calls=0, prompt_tokens=0, reused=0, warm=0, known=0, total_ms=0.0)
        self.counters.add(cost)
        return cost


def _opened(path: str | Path, reuse: bool) -> "Snapshot":
    from flare_local.engine.snapshot import Snapshot

    _check_reuse(reuse)
    return Snapshot.open(Path(path))


def _check_reuse(reuse: bool) -> None:
    if not reuse:
        raise UsageError("Without reuse between calls a snapshot is of no use.", "Leave out --warm or --no-reuse.")
