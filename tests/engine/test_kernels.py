"""The engine on Triton's kernels, in the interpreter: who may use them, padding, replays, and the oracle's answers."""

import pytest
import torch

pytest.importorskip("triton")

from flare_local.engine.forward import PackedForward
from flare_local.engine.kernels import uses_triton
from flare_local.engine.packing import Packing, pack, padded_length, padded_rows
from flare_local.engine.padded_forward import PaddedForward, Replay
from flare_local.engine.plan import Stretch
from flare_local.engine.pool import KVPool, LayerShape
from flare_local.engine.self_check import TWIN_TRIAL, _engine_logits, _random_rows
from flare_local.errors import UsageError
from tests.engine.exactness import Pair
from tests.engine.test_engine import NoHostSync
from tests.oracle.margin import Margin
from tests.oracle.options import Options
from tests.tiny_models import tiny_model, tiny_questions

CPU, GPU, OTHER_GPU = torch.device("cpu"), torch.device("cuda", 0), torch.device("cuda", 1)
SCRATCH = 900


def layer(device: torch.device, dtype: torch.dtype = torch.bfloat16) -> LayerShape:
    return LayerShape(2, 64, 64, dtype, device)


def test_they_run_on_nvidia_gpus_unless_told_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRITON_INTERPRET")
    assert uses_triton("auto", [layer(GPU), layer(OTHER_GPU)])
    assert not uses_triton("torch", [layer(GPU)])
    assert not uses_triton("auto", [layer(CPU)])
    assert not uses_triton("auto", [layer(GPU), layer(CPU)])
    assert not uses_triton("auto", [layer(GPU, torch.float64)])


def test_the_interpreter_runs_them_on_a_cpu_only_where_they_are_asked_for() -> None:
    assert uses_triton("triton", [layer(CPU)])
    assert not uses_triton("auto", [layer(CPU)])


def test_where_they_cannot_run_they_are_refused_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match=r"do not compute in float64.*--kernels torch"):
        uses_triton("triton", [layer(CPU, torch.float64)])
    monkeypatch.delenv("TRITON_INTERPRET")
    with pytest.raises(UsageError, match="--kernels triton: they need an NVIDIA GPU, and layers run on: cpu"):
        uses_triton("triton", [layer(CPU)])
    monkeypatch.setattr("flare_kernels.is_installed", lambda: False)
    with pytest.raises(UsageError, match="not installed"):
        uses_triton("triton", [layer(GPU)])


def packed(*sequences: tuple[int, int]) -> Packing:
    """Sequences of so many tokens before, and so many new ones whose last is read."""
    first = 0
    stretches = []
    for before, count in sequences:
        stretches.append(Stretch([7] * count, [(first, before)], [(first + before, count)], [count - 1]))
        first += before + count
    return pack(stretches, SCRATCH)


def test_few_shapes_occur() -> None:
    assert [padded_rows(rows) for rows in (1, 2, 3, 9, 64, 65, 130, 512)] == [1, 2, 4, 16, 64, 128, 192, 512]
    assert [padded_length(keys) for keys in (1, 256, 257, 5000)] == [256, 256, 512, 8192]
    shapes = {packed((before, 1)).shape for before in range(1, 250, 7)}
    assert len(shapes) == 1


def test_padding_writes_to_the_slot_that_nobody_owns() -> None:
    packing = packed((10, 3), (5, 2))
    rows = packing.shape.rows
    ids, positions, write = packing.rows[: 3 * rows].view(3, rows)
    assert ids.tolist() == [7] * 5 + [0] * 3
    assert positions.tolist() == [10, 11, 12, 5, 6, 0, 1, 2]
    assert write.tolist() == [10, 11, 12, 18, 19] + [SCRATCH] * 3
    assert packing.rows[3 * rows :].tolist() == [2, 4] + [0] * 6
    assert packing.read == 2


def test_blocks_cover_every_row_once() -> None:
    for sequences in ([(3, 1)] * 5, [(300, 7), (0, 1)], [(0, 70), (9, 1), (9, 1)], [(0, 20)] * 30):
        packing = packed(*sequences)
        blocks = packing.blocks.tolist()
        rows = [first + i for first, count, _, _ in blocks for i in range(count)]
        assert rows == list(range(packing.shape.rows))
        assert max(count for _, count, _, _ in blocks) <= packing.shape.block_queries
        positions = packing.rows[packing.shape.rows :]
        for first, count, table, position in blocks:
            if count:
                assert positions[first] == position
                assert packing.slots[table + position] == packing.rows[2 * packing.shape.rows + first]


@pytest.mark.parametrize("arch", ["llama", "gemma2", "gpt_oss"])
def test_logits_are_those_of_plain_torch(arch: str) -> None:
    """Chunks, two branches packed together, windows, soft caps and sinks."""
    module = tiny_model(arch, torch.float32)
    rows = _random_rows(module, TWIN_TRIAL)
    plain = _engine_logits(module, CPU, rows, TWIN_TRIAL, "torch")
    ours = _engine_logits(module, CPU, rows, TWIN_TRIAL, "triton")
    assert (ours - plain).abs().max() < 1e-4 * plain.std()


def test_a_forward_that_is_replayed_reads_the_new_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the place of a CUDA graph: the same launches over the same places, without looking at the new forward."""
    replayed: list[int] = []

    def record(self: PaddedForward, inputs: object, out: torch.Tensor) -> Replay:
        def replay() -> torch.Tensor:
            replayed.append(1)
            return out.copy_(self._run(inputs))  # type: ignore[arg-type]

        return replay

    def init(self: PaddedForward, *words: object) -> None:
        plain_init(self, *words)  # type: ignore[arg-type]
        self._records = True

    plain_init = PaddedForward.__init__
    monkeypatch.setattr(PaddedForward, "__init__", init)
    monkeypatch.setattr(PaddedForward, "_record", record)
    module = tiny_model("llama", torch.float32)
    steps = 5
    trial = type(TWIN_TRIAL)(prefix=8, chunk=4, branches=((1, 1),) * steps)
    rows = _random_rows(module, trial)
    plain = _engine_logits(module, CPU, rows, trial, "torch")
    assert (_engine_logits(module, CPU, rows, trial, "triton") - plain).abs().max() < 1e-4 * plain.std()
    # Two shapes, each checked once; the second half of the prefix and all pairs but the first are replays.
    assert len(replayed) == 2 + 1 + (steps - 1)


def test_a_graph_that_does_not_repeat_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    for fault in (lambda *_: torch.zeros(()), _cannot_be_recorded):
        assert _graphs_after(monkeypatch, fault) == {}


def _cannot_be_recorded(*_: object) -> torch.Tensor:
    raise RuntimeError("operation not permitted when stream is capturing")


def _graphs_after(monkeypatch: pytest.MonkeyPatch, replay: object) -> dict[object, object]:
    """The graphs of a forward that has run once on a model whose recordings are `replay`."""
    monkeypatch.setattr(PaddedForward, "_record", lambda *_: replay)
    module = tiny_model("llama", torch.float32)
    packed_forward = PackedForward(module, CPU)
    pool = KVPool(packed_forward.probe(), 20, poison=True)
    forward = PaddedForward(module, CPU, pool)
    forward._records = True
    logits = forward([Stretch([5, 6], [], [(3, 2)], [1])])
    assert bool(logits.isfinite().all())
    assert not forward._records
    return dict(forward._graphs)


def test_what_does_not_fit_the_static_buffers_runs_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flare_local.engine.padded_forward.STATIC_KEYS", 16)
    module = tiny_model("llama", torch.float32)
    trial = type(TWIN_TRIAL)(prefix=12, chunk=6, branches=((2, 1),))
    rows = _random_rows(module, trial)
    plain = _engine_logits(module, CPU, rows, trial, "torch")
    assert (_engine_logits(module, CPU, rows, trial, "triton") - plain).abs().max() < 1e-4 * plain.std()


@pytest.mark.parametrize("arch", ["llama", "mistral", "gemma2", "qwen3"])
def test_no_layer_waits_for_the_device(arch: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a CUDA graph must not hold; the kernels themselves, which only launch, are left out."""
    monkeypatch.setattr("flare_local.engine.table_attention.kv_write", lambda *_: None)
    monkeypatch.setattr(
        "flare_local.engine.table_attention.slot_attention", lambda query, *_, **__: query.transpose(0, 1)
    )
    module = tiny_model(arch, torch.float32)
    forward = PackedForward(module, CPU)
    padded = PaddedForward(module, CPU, KVPool(forward.probe(), 200))
    packing = pack([Stretch([5, 6, 7], [], [(100, 3)], [2]), Stretch([5], [(0, 40)], [(110, 1)], [0])], 200)
    inputs = padded._buffers.put(packing)
    with NoHostSync():
        assert padded._run(inputs).shape[0] == packing.shape.reads


def test_answers_are_the_oracles() -> None:
    """Drafts, a search, the sentence written again: few tokens, as every program of a kernel is interpreted."""
    pair = Pair("llama", torch.float32, 2, margin=Margin())
    options = Options(theta=0.4, beta=0.3, look_ahead=8, max_new_tokens=12, top_k=1)
    with pair.engine(512, kernels="triton", lookup=2) as engine:
        answer = pair.answer(engine, options, tiny_questions(1, 5)[0])
    assert len(answer.searches) > 1
