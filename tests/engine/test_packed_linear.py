"""Packed weights give the product of plain ones; what cannot be packed, or would differ, stays as it is."""

import pytest
import torch
from torch import nn

from flare_local.engine.packed_linear import DTYPES, PackedLinear, pack_linears
from tests.tiny_models import ARCHITECTURES, tiny_model

TOLERANCE = {torch.float32: 1e-5, torch.bfloat16: 5e-2, torch.float16: 1e-2}


def packs(dtype: torch.dtype) -> bool:
    return pack_linears(nn.Sequential(nn.Linear(8, 8, dtype=dtype))) == 1


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("bias", [True, False])
def test_the_product_is_the_same_for_any_number_of_rows(dtype: torch.dtype, bias: bool) -> None:
    if not packs(dtype):
        pytest.skip(f"{dtype} cannot be packed on this processor")
    plain = nn.Linear(48, 80, bias=bias, dtype=dtype)
    packed = PackedLinear(plain)
    for shape in [(48,), (1, 48), (5, 48), (1, 17, 48), (2, 40, 48)]:
        rows = torch.randn(shape).to(dtype)
        with torch.inference_mode():
            torch.testing.assert_close(packed(rows), plain(rows), atol=TOLERANCE[dtype], rtol=TOLERANCE[dtype])
    assert packed(torch.zeros(1, 0, 48, dtype=dtype)).shape == (1, 0, 80)


def test_this_torch_can_pack_float32() -> None:
    assert packs(torch.float32)


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_every_architecture_computes_the_same_packed(arch: str) -> None:
    plain, packed = (tiny_model(arch, torch.float32, 3, "bytes") for _ in range(2))
    count = pack_linears(packed)
    assert count == sum(type(each) is nn.Linear for each in plain.modules())
    ids = torch.arange(20, 60)[None]
    with torch.inference_mode():
        expected, got = (model(input_ids=ids, use_cache=False).logits for model in (plain, packed))
    torch.testing.assert_close(got, expected, atol=2e-4, rtol=2e-4)
    assert pack_linears(packed) == 0


def test_tied_embeddings_stay_plain() -> None:
    model = tiny_model("gemma3_text", torch.float32, 3, "bytes")
    before = model.get_input_embeddings().weight.clone()
    pack_linears(model)
    assert torch.equal(model.get_input_embeddings().weight, before)


def test_float64_and_layers_of_another_class_stay() -> None:
    class Odd(nn.Linear):
        pass

    assert pack_linears(nn.Sequential(nn.Linear(4, 4, dtype=torch.float64), Odd(4, 4))) == 0


def test_a_layer_whose_product_differs_stays_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PackedLinear, "forward", lambda self, rows: rows.new_ones(*rows.shape[:-1], 8))
    model = nn.Sequential(nn.Linear(8, 8))
    assert pack_linears(model) == 0
    assert type(model[0]) is nn.Linear


def test_a_layer_that_accelerate_moves_stays_plain() -> None:
    model = nn.Sequential(nn.Linear(8, 8))
    model[0]._hf_hook = object()
    assert pack_linears(model) == 0
