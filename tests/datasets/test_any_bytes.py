"""Whatever is in a file, reading it ends in items, faults with their lines, or one clear error."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flare_local.datasets.kinds import KINDS
from flare_local.datasets.read import read_dataset
from flare_local.errors import UsageError
from tests.datasets import files

NAMES = sorted({name for row in (*files.MULTIHOP, *files.STRATEGYQA, *files.WIKIASP) for name in row})
NAMES += ["id", "answers", "qa_pairs", "ambiguous_question", "annotations", "aspects", "target_scores", "input", "hint"]
LEAVES = st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.floats(allow_nan=False)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=4),
    max_leaves=8,
)
ROWS = st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=8)
SEEDS: list[Any] = [
    files.MULTIHOP,
    files.STRATEGYQA,
    files.BIGBENCH,
    files.ASQA,
    files.WIKIASP,
    {"dev": files.MULTIHOP},
]
CALM = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def read(path: Path, data: bytes, task: str) -> None:
    path.write_bytes(data)
    try:
        found = read_dataset(path, task)
    except UsageError:
        return
    lines = data.count(b"\n") + 1
    assert all(1 <= fault.line <= lines for fault in found.faults)
    assert all(str(path) in fault.text for fault in found.faults)
    assert len({item.id for item in found.items}) == len(found.items)
    json.dumps([item.as_dict() for item in found.items]).encode()
    _ = found.hash


@pytest.mark.parametrize("name", ["q.jsonl", "dev.json"])
@CALM
@given(rows=st.lists(ROWS, max_size=4), task=st.sampled_from(list(KINDS)), whole=st.booleans())
def test_rows_of_any_shape(tmp_path: Path, name: str, rows: list[Any], task: str, whole: bool) -> None:
    lines = "\n".join(json.dumps(row) for row in rows)
    read(tmp_path / name, (json.dumps(rows) if whole else lines).encode(), task)


@CALM
@given(data=st.data(), task=st.sampled_from(list(KINDS)), indent=st.sampled_from([None, 1]))
def test_released_files_with_any_byte_changed(
    tmp_path: Path, data: st.DataObject, task: str, indent: int | None
) -> None:
    whole = bytearray(json.dumps(data.draw(st.sampled_from(SEEDS)), indent=indent).encode())
    at = data.draw(st.integers(0, len(whole) - 1))
    whole[at : at + data.draw(st.integers(0, 20))] = data.draw(st.binary(max_size=3))
    read(tmp_path / "dev.json", bytes(whole), task)


@CALM
@given(data=st.binary(max_size=60), start=st.sampled_from([b"", b"{", b"[", b'{"dev": {', b"[{}, "]))
def test_any_bytes(tmp_path: Path, data: bytes, start: bytes) -> None:
    read(tmp_path / "dev.json", start + data, "asqa")
