"""Compiles every kernel ahead of time, without a GPU: `python -m flare_kernels.ahead` prints what each variant takes.

Registers a thread, shared memory a block and bytes spilled, for sm_80 (A100) and sm_90 (H100, H200).
"""

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from flare_kernels.kv_write import kv_write_kernel
from flare_kernels.score_tokens import BLOCK, score_tokens_kernel
from flare_kernels.slot_attention import launch, merge_kernel, partial_kernel

ARCHITECTURES = (80, 90)
MOST_SHARED = {80: 163 * 1024, 90: 227 * 1024}  # bytes a block may take (CUDA programming guide)
TYPES = {torch.float32: "fp32", torch.bfloat16: "bf16", torch.float16: "fp16"}

# heads, K/V heads, width of K, width of V: 0.5B (Qwen2.5), 8B (Llama 3), one K/V head (Gemma 2B), DeepSeek's latent.
SHAPES = ((14, 2, 64, 64), (32, 8, 128, 128), (8, 1, 256, 256), (16, 16, 192, 128))


@dataclass(frozen=True)
class Variant:
    """One kernel with the types and constants it is compiled for."""

    name: str
    kernel: Any
    types: dict[str, str]  # of the arguments that are no constants, in order
    constants: dict[str, Any]
    num_warps: int
    num_stages: int = 2


@dataclass(frozen=True)
class Compiled:
    """What one variant takes on one architecture."""

    name: str
    architecture: int
    registers: int  # a thread, of 255
    shared: int  # bytes a block
    spilled: int  # bytes a thread

    def __str__(self) -> str:
        return f"sm_{self.architecture}  {self.registers:>4} {self.shared:>8} {self.spilled:>6}  {self.name}"


HEADER = "arch   regs   shared  spill  kernel"


def variants(dtypes: tuple[torch.dtype, ...] = (torch.bfloat16, torch.float32)) -> Iterator[Variant]:
    """What the engine launches: decode, verify and prefill for each shape, and the smaller kernels."""
    for dtype in dtypes:
        for shape in SHAPES:
            for block_queries, rows in ((1, 1), (4, 8), (16, 512)):
                yield attention_variant(*shape, dtype, block_queries, rows)
    half = torch.bfloat16
    yield attention_variant(*SHAPES[1], torch.float16, 16, 512)
    yield attention_variant(*SHAPES[1], half, 4, 8, softcap=True)
    for sinks in (False, True):
        constants = {"SINKS": sinks, "HEADS": 32, "VALUE_DIM": 128, "VALUE_WIDTH": 128}
        types = {"partial": "*fp32", "lse": "*fp32", "sinks": "*bf16", "out": "*bf16", "splits": "i32", "rows": "i32"}
        yield Variant(f"merge bf16{' sinks' if sinks else ''}", merge_kernel, types, constants, 1)
    for rotary in (0, 128):
        yield kv_write_variant(half, rotary)
    for dtype in TYPES:
        types = {
            "logits": f"*{TYPES[dtype]}",
            "ids": "*i64",
            "top": "*i64",
            "top_probability": "*fp32",
            "probability": "*fp32",
            "row_stride": "i32",
            "vocabulary": "i32",
        }
        yield Variant(f"score {TYPES[dtype]}", score_tokens_kernel, types, {"BLOCK": BLOCK}, 8)


def attention_variant(
    heads: int,
    kv_heads: int,
    key_dim: int,
    value_dim: int,
    dtype: torch.dtype,
    block_queries: int,
    rows: int,
    softcap: bool = False,
) -> Variant:
    """The first kernel of `slot_attention`, as it is launched for this shape."""
    how = launch(heads, kv_heads, key_dim, value_dim, dtype, block_queries, rows, longest=4096)
    pointer = f"*{TYPES[dtype]}"
    types = {
        **dict.fromkeys(("query", "keys", "values"), pointer),
        **dict.fromkeys(("slots", "blocks"), "*i32"),
        **dict.fromkeys(("out", "lse"), "*fp32"),
        **dict.fromkeys(("query_head_stride", "query_row_stride", "pool_slots", "rows", "window"), "i32"),
        **dict.fromkeys(("scale", "softcap"), "fp32"),
    }
    name = f"attention {TYPES[dtype]} {heads}/{kv_heads} heads x {key_dim}/{value_dim}, {block_queries} rows a block"
    constants = {"SOFTCAP": softcap, **how.constants}
    return Variant(
        name + (" softcap" if softcap else ""), partial_kernel, types, constants, how.num_warps, how.num_stages
    )


def kv_write_variant(dtype: torch.dtype, rotary_dim: int) -> Variant:
    """`kv_write` with and without rotation."""
    pointer = f"*{TYPES[dtype]}"
    types = {
        **dict.fromkeys(("key", "value", "keys", "values"), pointer),
        "slots": "*i64",
        **dict.fromkeys(("cos", "sin"), pointer if rotary_dim else "*i64"),
        **dict.fromkeys(("key_head_stride", "key_row_stride", "value_head_stride", "value_row_stride"), "i32"),
        "pool_slots": "i32",
    }
    constants = {"KEY_DIM": 128, "VALUE_DIM": 128, "ROTARY_DIM": rotary_dim, "WIDTH": 128}
    return Variant(f"kv write {TYPES[dtype]}{' rotary' if rotary_dim else ''}", kv_write_kernel, types, constants, 1)


def compile_ahead(variant: Variant, architecture: int) -> Compiled:
    """Compiles to machine code by the `ptxas` that comes with Triton. Raises what Triton or `ptxas` raise."""
    signature = variant.types | dict.fromkeys(variant.constants, "constexpr")
    signature = {name: signature[name] for name in variant.kernel.arg_names}
    aligned = {  # as they are when a model runs
        (place,): [["tt.divisibility", 16]]
        for place, (name, kind) in enumerate(signature.items())
        if kind.startswith("*") or name.endswith("_stride")
    }
    source = ASTSource(variant.kernel, signature, variant.constants, aligned)
    options = {"num_warps": variant.num_warps, "num_stages": variant.num_stages}
    made = triton.compile(source, target=GPUTarget("cuda", architecture, 32), options=options)
    registers, spilled = resources(made.asm["cubin"])
    return Compiled(variant.name, architecture, registers, made.metadata.shared, spilled)


def resources(cubin: bytes) -> tuple[int, int]:
    """Registers and bytes of local memory (spills) a thread of a kernel takes, as `cuobjdump` reads them."""
    tool = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / "cuobjdump"
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "kernel.cubin"
        file.write_bytes(cubin)
        shown = subprocess.run([tool, "--dump-resource-usage", file], capture_output=True, text=True, check=True)
    found = re.search(r"REG:(\d+) STACK:(\d+)", shown.stdout)
    assert found is not None, shown.stdout
    return int(found[1]), int(found[2])


def main() -> int:
    """Prints one line a variant and architecture."""
    print(HEADER)
    for variant in variants():
        for architecture in ARCHITECTURES:
            print(compile_ahead(variant, architecture), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
