"""The loop that runs everything: prefill chunks, proposals and single tokens of all calls, packed into one forward."""

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from functools import partial
from time import perf_counter
from typing import TypeVar

import torch

from flare_local.engine.call import Call, Generation
from flare_local.engine.forward import PackedForward
from flare_local.engine.ledger import Ledger
from flare_local.engine.output import Output
from flare_local.engine.plan import Stretch
from flare_local.engine.pool import KVPool
from flare_local.engine.pool_use import PoolUse
from flare_local.engine.prefix_tree import PrefixTree
from flare_local.engine.running import Running
from flare_local.engine.scores import score
from flare_local.engine.snapshot import Snapshot
from flare_local.engine.speculation import NO_SPECULATION, Speculation, Speculator
from flare_local.engine.warm import load
from flare_local.errors import OutOfMemory
from flare_local.spans import Kind, recording, span

Batch = list[tuple[Running, Stretch]]
T = TypeVar("T")


class Loop:
    """Owns the pool, the tree and the only thread that touches them or the model.

    A call is admitted, in the order of submission, when its worst case can be reserved; so no call ever waits for
    slots in the middle, and nothing can deadlock.
    """

    def __init__(
        self,
        forward: PackedForward,
        pool: KVPool,
        new_output: Callable[[Call], Output],
        *,
        reuse: bool,
        max_forward_tokens: int,
        speculation: Speculation,
    ) -> None:
        self.pool = pool
        self.tree = PrefixTree(pool)
        self.use = PoolUse(pool.slots)
        self._forward = forward
        self._new_output = new_output
        self._reuse = reuse
        self._room = max_forward_tokens
        # The naive baseline knows nothing of other calls, so of no draft either.
        self.speculator = Speculator(speculation if reuse else NO_SPECULATION)
        self._ledger = Ledger()
        self._inbox: queue.SimpleQueue[Running | Callable[[], None] | None] = queue.SimpleQueue()
        self._waiting: list[Running] = []
        self._running: list[Running] = []
        self._thread = threading.Thread(target=self._work, name="flare-engine", daemon=True)
        self._thread.start()

    def submit(self, call: Call) -> "Future[Generation]":
        """Queues a call that fits the pool. Cancelling the future ends the call before its next forward."""
        future: Future[Generation] = Future()
        self._inbox.put(Running(call, self._new_output(call), future, self.speculator))
        return future

    def load(self, snapshot: Snapshot) -> "Future[int]":
        """Takes the prefixes of a snapshot that was checked into the tree; see `engine.warm`."""
        return self.between_forwards(lambda tree: load(tree, snapshot, self._ledger))

    def between_forwards(self, work: Callable[[PrefixTree], T]) -> "Future[T]":
        """Has `work` done on the thread that owns the tree, when no forward is on its way."""
        future: Future[T] = Future()
        self._inbox.put(partial(_settle, future, partial(work, self.tree)))
        return future

    def close(self) -> None:
        """Ends the thread after the forward on its way; calls not finished are cancelled."""
        self._inbox.put(None)
        self._thread.join()

    def _work(self) -> None:
        while self._receive():
            try:
                self._step()
            except Exception as error:
                for running in self._running:
                    running.drop_forward()
                    self._end(running, _for_user(error))
                self._running = []
        for running in self._running + self._waiting:
            running.future.cancel()

    def _receive(self) -> bool:
        """Takes in what was submitted; waits where there is nothing else to do. False: the engine is closed."""
        while True:
            idle = not self._running and not self._waiting
            try:
                item = self._inbox.get(block=idle)
            except queue.Empty:
                return True
            if item is None:
                return False
            if isinstance(item, Running):
                self._waiting.append(item)
            else:
                item()

    def _step(self) -> None:
        with span(Kind.TREE, "admit and catch up"):
            self._admit()
            for running in self._running:
                running.catch_up()
            self._retire()
        with span(Kind.PLAN, "pack"):
            batch = self._pack()
        if batch:
            self._run(batch)
            with span(Kind.TREE, "retire"):
                self._retire()

    def _admit(self) -> None:
        self._waiting = [running for running in self._waiting if not running.future.cancelled()]
        while self._waiting:
            running = self._waiting[0]
            running.enter(self.tree if self._reuse else PrefixTree(self.pool))
            promised = sum(each.reserved for each in self._running) + running.reserved
            if promised > self.pool.free.count + self.tree.idle:
                running.leave()
                return
            self._running.append(self._waiting.pop(0))

    def _pack(self) -> Batch:
        """What the next forward runs. Two calls that would run the same token after the same prefix: the first goes
        ahead, the other finds it in the tree one forward later."""
        chosen: list[tuple[Running, int]] = []  # with the tokens that it may run
        room = self._room
        begun: set[tuple[int, int]] = set()  # places where a stretch of this forward begins
        for running in sorted(self._running, key=lambda each: len(each.ids) - each.cached):
            place = running.next_place
            if room > 0 and place not in begun:
                begun.add(place)
                chosen.append((running, min(room, running.waiting)))
                room -= chosen[-1][1]
        rows = self._room - room
        sequences = sum(count == running.waiting for running, count in chosen)
        batch: Batch = []
        for running, count in chosen:
            stretch = running.next_stretch(count, rows, sequences)
            rows += len(running.proposals.tokens)
            batch.append((running, stretch))
        return batch

    def _run(self, batch: Batch) -> None:
        with span(Kind.PLAN, "peak of the pool"):
            self.use.note(self.pool, self.tree, self._running)
        started = perf_counter()
        with span(_kind_of_all(batch), about=lambda: _about(batch)):
            logits = self._forward([stretch for _, stretch in batch], self.pool)
            if recording() and logits.is_cuda:
                torch.cuda.synchronize(logits.device)  # else the scores would wait for it, and be blamed
        rows = [
            (running.call, len(running.output.tokens) + i)
            for running, stretch in batch
            for i in range(len(stretch.read))
        ]
        with span(Kind.SCORE):
            scored = score(logits, rows, self._forward.read) if rows else []
        spent = (perf_counter() - started) * 1000
        total = sum(len(stretch.tokens) for _, stretch in batch)
        self.speculator.cost.note(total, spent)
        with span(Kind.TREE, "take in") as taken:
            accepted = []
            for running, stretch in batch:
                self._book(running, stretch, spent * len(stretch.tokens) / total)
                mine, scored = scored[: len(stretch.read)], scored[len(stretch.read) :]
                before = running.counters.accepted
                self._ledger.ran(*running.advance(stretch, mine), running.counters)
                accepted.append(running.counters.accepted - before)
            taken.note(accepted=accepted)

    def _book(self, running: Running, stretch: Stretch, milliseconds: float) -> None:
        counters = running.counters
        counters.forwards += 1
        match _kind(running, stretch):
            case Kind.VERIFY:
                counters.verify_ms += milliseconds
            case Kind.PREFILL:
                counters.prefill_ms += milliseconds
            case _:
                counters.decode_ms += milliseconds

    def _retire(self) -> None:
        for running in self._running:
            if running.output.done or running.future.cancelled():
                self._end(running, None)
        self._running = [running for running in self._running if running.tree is not None]

    def _end(self, running: Running, error: Exception | None) -> None:
        tree, done = running.tree, running.output.done
        running.leave()
        if tree is not None and tree is not self.tree:
            tree.evict(tree.idle)
        if error is not None:
            with suppress(InvalidStateError):
                running.future.set_exception(error)
        elif done:
            _settle(running.future, partial(self._result, running))

    def _result(self, running: Running) -> Generation:
        generation = running.generation()
        if not running.call.ahead:
            self._ledger.called([*running.call.prompt, *generation.tokens], running.counters)
        return generation


def _settle(future: "Future[T]", work: Callable[[], T]) -> None:
    """Puts what `work` returns or raises into `future`; nobody waits for one that was cancelled meanwhile."""
    with suppress(InvalidStateError):
        try:
            result = work()
        except BaseException as error:
            future.set_exception(error)
        else:
            future.set_result(result)


def _kind(running: Running, stretch: Stretch) -> Kind:
    """What a forward is for one call."""
    if running.proposals.tokens:
        return Kind.VERIFY
    return Kind.PREFILL if len(stretch.tokens) > 1 or not running.output.tokens else Kind.DECODE


def _kind_of_all(batch: Batch) -> Kind:
    kinds = {_kind(running, stretch) for running, stretch in batch}
    return kinds.pop() if len(kinds) == 1 else Kind.MIXED


def _about(batch: Batch) -> dict[str, object]:
    """A forward as a profile shows it: tokens that it runs, rows of logits that are read, and what of it is whose."""
    calls = [
        {
            "question": running.track,
            "tokens": len(stretch.tokens),
            "proposals": len(running.proposals.tokens),
            "at": len(running.output.tokens),
        }
        for running, stretch in batch
    ]
    rows = sum(len(stretch.read) for _, stretch in batch)
    return {"tokens": sum(len(stretch.tokens) for _, stretch in batch), "rows": rows, "calls": calls}


def _for_user(error: Exception) -> Exception:
    """Torch's several ways to say that memory ran out, as one error of ours."""
    if isinstance(error, torch.OutOfMemoryError | MemoryError) or "not enough memory" in str(error):
        return OutOfMemory(
            f"Memory ran out in a forward: {str(error).splitlines()[0]}.",
            "Lower --kv-memory or --max-forward-tokens, or take a smaller model or dtype.",
        )
    return error
