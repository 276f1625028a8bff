"""Several processes on one run: shards are merged once, however often a merge is killed."""

import asyncio
import json
import shutil
from contextlib import closing
from pathlib import Path

import pytest

from flare_local.runs.folder import RunFolder
from flare_local.runs.record import Record
from flare_local.runs.shards import done, merge, shard
from tests.runs.made import SETTINGS, answer_to, asked

COUNT = 6


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A run of which the first process has answered q1 and q2, the second q3 and failed at q4."""
    path = tmp_path / "run"
    for rank, ids in ((0, ("q1", "q2")), (1, ("q3",))):
        with RunFolder(shard(path, rank)) as run:
            run.begin(SETTINGS, asked(COUNT))
            with closing(Record(run.path, run.run)) as record:
                for one in asked(COUNT):
                    if one.id in ids:
                        record.answer(one, asyncio.run(answer_to(one)), calls=False)
                if rank:
                    record.fail(asked(COUNT)[3], ValueError("no"))
                record.session({"rank": rank})
    return path


def take(path: Path) -> None:
    with RunFolder(path) as run, closing(Record(path, run.run)) as record:
        merge(path, record, run.run)


def lines(path: Path, name: str) -> list[str]:
    return [row.get("id", "") for row in map(json.loads, (path / name).read_text().splitlines())]


def test_a_shard_is_taken_in_and_goes_away(folder: Path) -> None:
    assert done(folder, retry_failed=False) == {"q1", "q2"}
    take(folder)
    assert lines(folder, "results.jsonl") == ["q1", "q2", "q3"]
    assert lines(folder, "errors.jsonl") == ["q4"]
    assert len(lines(folder, "sessions.jsonl")) == 2
    assert not shard(folder, 1).exists()
    assert done(folder, retry_failed=False) == {"q1", "q2", "q3", "q4"}
    assert done(folder, retry_failed=True) == {"q1", "q2", "q3"}


def test_a_merge_that_was_killed_is_done_again_without_doubles(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(shard(folder, 1), tmp_path / "kept")
    take(folder)
    shutil.copytree(tmp_path / "kept", shard(folder, 1))  # as if it had not been removed yet
    take(folder)
    assert lines(folder, "results.jsonl") == ["q1", "q2", "q3"]
    assert (lines(folder, "errors.jsonl"), len(lines(folder, "sessions.jsonl"))) == (["q4"], 2)


def test_a_shard_half_removed_is_no_obstacle(folder: Path) -> None:
    (shard(folder, 1) / "run.json").unlink()
    take(folder)
    assert lines(folder, "results.jsonl") == ["q1", "q2"]
    assert not shard(folder, 1).exists()


def test_a_shard_of_another_run_is_dropped(folder: Path) -> None:
    with RunFolder(shard(folder, 2)) as run:
        run.begin({"theta": 0.1}, asked(COUNT))
        with closing(Record(run.path, run.run)) as record:
            record.answer(asked(COUNT)[5], asyncio.run(answer_to(asked(COUNT)[5])), calls=False)
    take(folder)
    assert lines(folder, "results.jsonl") == ["q1", "q2", "q3"]
