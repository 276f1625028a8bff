"""Snapshot files: what is written whole, and what is refused with its reason and never used."""

import errno
import os
import random
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from flare_local.engine import snapshot_file
from flare_local.engine.engine import Engine
from flare_local.engine.model import LoadedModel
from flare_local.engine.snapshot import DIGEST, Snapshot, digest, distinct, shared_lengths
from flare_local.engine.snapshot_header import Header
from flare_local.errors import DiskFull, FlareError, PoolTooSmall, SnapshotFault, UsageError
from tests.engine.exactness import check_integrity, tiny_loaded

LONG, OTHER = tuple(range(20, 60)), (20, 21, *range(70, 90))  # two prefixes that share two tokens
Tensors = dict[str, torch.Tensor]


@pytest.fixture(scope="module")
def model() -> LoadedModel:
    return tiny_loaded("llama", torch.float32)


@pytest.fixture(scope="module")
def written(model: LoadedModel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("snapshots") / "warm.safetensors"
    with Engine(model, slots=200, poison=True) as engine:
        engine.save_warm(path, [LONG, OTHER])
    return path


def read(path: Path) -> tuple[dict[str, str], Tensors]:
    with safe_open(path, framework="pt") as file:
        return dict(file.metadata()), {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118


def forge(written: Path, to: Path, change: Callable[[dict[str, str], Tensors], None], *, signed: bool = True) -> Path:
    """A copy of the snapshot with a change; `signed`: with the digest of what it holds then."""
    metadata, tensors = read(written)
    change(metadata, tensors)
    if signed:
        with suppress(SnapshotFault):  # a header that cannot be read
            metadata[DIGEST] = digest(Header.read(metadata, to), sorted(tensors.items()))
    save_file(tensors, to, metadata)
    return to


def refused(model: LoadedModel, path: Path) -> str:
    """What is said of a file that is not used."""
    with Engine(model, slots=200, poison=True) as engine:
        with pytest.raises(SnapshotFault) as caught:
            engine.warm(path)
        assert engine.warmed == ()
        assert engine.pool.free.count == 200
    return str(caught.value)


def test_prefixes_that_others_begin_with_are_not_kept() -> None:
    assert distinct([(), (1, 2), (1, 2, 3), (1,), (4,), (1, 2, 3), (1, 5)]) == ((1, 2, 3), (4,), (1, 5))
    assert shared_lengths([(1, 2, 3), (1, 2, 9), (4,), (1, 2, 9, 9)]) == [0, 2, 0, 3]


def test_a_snapshot_holds_each_token_once(written: Path, model: LoadedModel) -> None:
    metadata, tensors = read(written)
    assert tuple(tensors["tokens.0"].tolist()) == LONG
    assert tuple(tensors["tokens.1"].tolist()) == OTHER
    assert tensors["keys.0.0"].shape == (2, 40, 8)
    assert tensors["values.1.1"].shape == (2, 20, 8)
    assert metadata["torch"] == torch.__version__
    assert metadata["dtype"] == "float32"
    with Engine(model, slots=200, poison=True) as engine:
        assert engine.warm(written) == 60
        assert engine.warm(written) == 0
        assert engine.pool.free.count == 140
        check_integrity(engine)


@pytest.mark.parametrize("content", [b"", b"{}", b"\x00" * 64, b"not safetensors at all", b"\xff" * 4096])
def test_what_is_no_safetensors_file_is_refused(model: LoadedModel, tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.safetensors"
    path.write_bytes(content)
    assert "cannot be read" in refused(model, path)


def test_absent_files_folders_and_pipes_are_refused(model: LoadedModel, tmp_path: Path) -> None:
    assert "does not exist" in refused(model, tmp_path / "absent")
    assert "is no file" in refused(model, tmp_path)
    assert "does not exist" in refused(model, tmp_path / ("n" * 300))
    os.mkfifo(tmp_path / "pipe")
    assert "is no file" in refused(model, tmp_path / "pipe")


def test_other_safetensors_files_are_refused(model: LoadedModel, tmp_path: Path) -> None:
    save_file({"weight": torch.zeros(3)}, tmp_path / "model.safetensors")
    assert "no snapshot" in refused(model, tmp_path / "model.safetensors")


@pytest.mark.parametrize("share", [0.01, 0.1, 0.5, 0.9, 0.999])
def test_truncated_files_are_refused(model: LoadedModel, written: Path, tmp_path: Path, share: float) -> None:
    data = written.read_bytes()
    (tmp_path / "x").write_bytes(data[: int(len(data) * share)])
    assert "cannot be read" in refused(model, tmp_path / "x")


def test_any_byte_that_changed_is_noticed(model: LoadedModel, written: Path, tmp_path: Path) -> None:
    data, rng = written.read_bytes(), random.Random(4)
    header = 8 + int.from_bytes(data[:8], "little")
    for at in [*rng.sample(range(8), 2), *rng.sample(range(8, header), 10), *rng.sample(range(header, len(data)), 20)]:
        broken = bytearray(data)
        broken[at] ^= 1 << rng.randrange(8)
        (tmp_path / "x").write_bytes(broken)
        if at >= header or read_or_none(tmp_path / "x") != read_or_none(written):
            refused(model, tmp_path / "x")


def read_or_none(path: Path) -> tuple[dict[str, str], list[str]] | None:
    """Header and names, as far as safetensors reads them: blanks between them may change unseen."""
    try:
        metadata, tensors = read(path)
        return metadata, sorted(tensors)
    except (SafetensorError, OSError):
        return None


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        ("format", "flare-local warm 0", "another format"),
        ("format", "pt", "no snapshot"),
        ("flare_local", "0.0.1", "with flare-local 0.0.1; this is flare-local"),
        ("torch", "2.0.0", "with torch 2.0.0; this is torch"),
        ("transformers", "5.0.0", "with transformers 5.0.0"),
        ("dtype", "bfloat16", "in bfloat16; the model runs in float32"),
        ("device", "cuda", "on cuda; the model runs on cpu"),
        ("fingerprint", "0" * 32, "another model: weights, config or tokenizer"),
        ("context", "4096", "a context of 4096 tokens; the model now has 2048"),
        ("context", "many", "header is not whole"),
        ("layers", "[]", "other layers"),
    ],
)
def test_each_difference_of_the_header_is_named(
    model: LoadedModel, written: Path, tmp_path: Path, key: str, value: str, reason: str
) -> None:
    path = forge(written, tmp_path / "x", lambda metadata, _: metadata.update({key: value}))
    assert reason in refused(model, path)


def test_a_header_that_lacks_something_is_refused(model: LoadedModel, written: Path, tmp_path: Path) -> None:
    for key in read(written)[0]:
        refused(model, forge(written, tmp_path / key, lambda metadata, _, key=key: metadata.pop(key), signed=False))


@pytest.mark.parametrize(
    "changed", [{"dtype": torch.float64}, {"context_length": 512}, {"fingerprint": "f" * 32}, {"vocab_size": 50}]
)
def test_another_model_in_memory_is_noticed(written: Path, model: LoadedModel, changed: dict[str, Any]) -> None:
    refused(replace(model, **changed), written)


def test_another_architecture_is_noticed(written: Path) -> None:
    assert "layers" in refused(tiny_loaded("llama+wide heads", torch.float32), written)


def _set(name: str, value: Callable[[torch.Tensor], torch.Tensor]) -> Callable[[dict[str, str], Tensors], None]:
    def change(_: dict[str, str], tensors: Tensors) -> None:
        tensors[name] = value(tensors[name])

    return change


def _filled(at: tuple[int, ...], number: float) -> Callable[[torch.Tensor], torch.Tensor]:
    def fill(tensor: torch.Tensor) -> torch.Tensor:
        tensor[at] = number
        return tensor

    return fill


def _swap(_: dict[str, str], tensors: Tensors) -> None:
    tensors["keys.0.0"], tensors["keys.0.1"] = tensors["keys.0.1"], tensors["keys.0.0"]


# Each with a digest that fits what it holds: as somebody would make it who means harm.
FORGED: dict[str, tuple[Callable[[dict[str, str], Tensors], Any], str]] = {
    "NaN in a key": (_set("keys.0.1", _filled((1, 7, 3), torch.nan)), "no numbers"),
    "infinity in a value": (_set("values.1.0", _filled((0, 0, 0), -torch.inf)), "no numbers"),
    "a token beyond the vocabulary": (_set("tokens.0", _filled((3,), 99_999)), "tokens that the model does not have"),
    "a token below zero": (_set("tokens.1", _filled((5,), -1)), "tokens that the model does not have"),
    "token ids as floats": (_set("tokens.0", torch.Tensor.float), "no token ids"),
    "token ids in two dimensions": (_set("tokens.0", lambda ids: ids[None]), "no token ids"),
    "no token ids": (_set("tokens.0", lambda ids: ids[:0].clone()), "no token ids"),
    "too few tokens": (_set("tokens.0", lambda ids: ids[:-1].clone()), "its tensors are not those"),
    "another beginning": (_set("tokens.1", lambda ids: ids + 1), "its tensors are not those"),
    "keys of another width": (_set("keys.0.0", lambda keys: keys[..., :4].contiguous()), "its tensors are not those"),
    "keys of another head": (_set("keys.0.0", lambda keys: keys[:1].contiguous()), "its tensors are not those"),
    "keys of another dtype": (_set("keys.0.0", torch.Tensor.half), "its tensors are not those"),
    "a tensor too few": (lambda _, tensors: tensors.pop("values.0.1"), "its tensors are not those"),
    "a tensor too many": (lambda _, tensors: tensors.update(x=torch.zeros(1)), "its tensors are not those"),
    "a prefix too few": (lambda _, tensors: tensors.pop("tokens.0"), "it has no tokens.0"),
    "no prefix": (lambda _, tensors: (tensors.clear(), tensors.update(x=torch.zeros(1))), "its tensors are not those"),
}


@pytest.mark.parametrize("what", FORGED)
def test_forged_content_is_refused_even_with_a_digest_that_fits(
    model: LoadedModel, written: Path, tmp_path: Path, what: str
) -> None:
    change, reason = FORGED[what]
    assert reason in refused(model, forge(written, tmp_path / "x", change))


def test_a_prefix_that_fills_the_context_is_refused(model: LoadedModel, written: Path, tmp_path: Path) -> None:
    path = forge(written, tmp_path / "x", lambda metadata, _: metadata.update(context="40"))
    assert "leaves no room in a context of 40" in refused(replace(model, context_length=40), path)


def test_exchanged_layers_are_noticed_by_the_digest(model: LoadedModel, written: Path, tmp_path: Path) -> None:
    assert "not what was written" in refused(model, forge(written, tmp_path / "x", _swap, signed=False))


@pytest.mark.skipif(not os.path.exists("/proc/self/maps"), reason="no list of what is mapped")
def test_the_file_is_memory_mapped(written: Path) -> None:
    snapshot = Snapshot.open(written)
    assert snapshot.prefixes == (LONG, OTHER)
    at = snapshot._tensor("keys.0.0").data_ptr()
    for line in Path("/proc/self/maps").read_text().splitlines():
        begin, end = (int(address, 16) for address in line.split()[0].split("-"))
        if begin <= at < end:
            assert line.endswith(written.name)
            return
    pytest.fail("the tensor is nowhere")


# -- writing ----------------------------------------------------------------------------------------------------------


def save(model: LoadedModel, path: Path, *prefixes: tuple[int, ...], slots: int = 200) -> int:
    with Engine(model, slots=slots, poison=True) as engine:
        return engine.save_warm(path, prefixes)


def test_an_old_snapshot_is_replaced_and_nothing_else_is(model: LoadedModel, written: Path, tmp_path: Path) -> None:
    old = shutil.copy(written, tmp_path / "old")
    assert save(model, old, LONG) == old.stat().st_size < written.stat().st_size
    precious = tmp_path / "model.safetensors"
    save_file({"weight": torch.ones(3)}, precious)
    before = precious.read_bytes()
    for path in (precious, tmp_path):
        with pytest.raises(UsageError, match="is no snapshot; it is not replaced"):
            save(model, path, LONG)
    assert precious.read_bytes() == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["model.safetensors", "old"]


def test_a_link_keeps_its_place_and_its_target_is_replaced(model: LoadedModel, written: Path, tmp_path: Path) -> None:
    target = shutil.copy(written, tmp_path / "target")
    (tmp_path / "link").symlink_to(target)
    save(model, tmp_path / "link", LONG)
    assert (tmp_path / "link").is_symlink()
    assert Snapshot.open(target).prefixes == (LONG,)


def test_folders_are_made(model: LoadedModel, tmp_path: Path) -> None:
    save(model, tmp_path / "a" / "b" / "warm", LONG)
    assert [p.name for p in (tmp_path / "a" / "b").iterdir()] == ["warm"]


def test_a_place_where_nothing_can_be_written_is_told_before_any_work(model: LoadedModel, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file" / "warm", Path("/proc/warm"), tmp_path / ("n" * 300)):
        with Engine(model, slots=200) as engine:
            with pytest.raises(DiskFull, match="cannot be written"):
                engine.save_warm(path, [LONG])
            assert engine.pool.free.count == 200


@pytest.mark.parametrize(
    "error", [OSError(errno.ENOSPC, "No space left on device"), SafetensorError("I/O error: File too large (27)")]
)
def test_a_full_disk_leaves_the_old_file_as_it_was(
    model: LoadedModel, written: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    old = shutil.copy(written, tmp_path / "old")

    def fail(_: Any, path: Path, __: Any) -> None:
        path.write_bytes(b"half")
        raise error

    monkeypatch.setattr(snapshot_file, "save_file", fail)
    with pytest.raises(DiskFull, match=r"cannot be written: .*(No space left|File too large)"):
        save(model, old, OTHER)
    assert old.read_bytes() == written.read_bytes()
    assert [p.name for p in tmp_path.iterdir()] == ["old"]


def test_a_disk_without_room_is_told_before_writing(
    model: LoadedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot_file.shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10**6, 10**6, 100))
    with pytest.raises(DiskFull, match=r"it takes .* GiB, .* are free"):
        save(model, tmp_path / "warm", LONG)
    assert list(tmp_path.iterdir()) == []


def test_numbers_that_overflow_are_not_written(tmp_path: Path) -> None:
    model = tiny_loaded("llama", torch.float32)
    layer = model.module.model.layers[1].self_attn.v_proj
    with torch.no_grad():
        layer.weight.fill_(1e38)
    with pytest.raises(FlareError, match="not all finite"):
        save(model, tmp_path / "warm", LONG)
    assert list(tmp_path.iterdir()) == []


def test_a_pool_that_cannot_hold_all_prefixes_is_told_before_any_work(model: LoadedModel, tmp_path: Path) -> None:
    with pytest.raises(PoolTooSmall, match="need 61 slots; the KV pool has 60"):
        save(model, tmp_path / "warm", LONG, OTHER, slots=60)
    assert save(model, tmp_path / "warm", LONG, OTHER, slots=61)
