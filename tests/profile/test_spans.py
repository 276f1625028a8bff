"""Spans: nothing is kept without a recorder; with one, tracks, questions and the writer's file."""

import asyncio
import json
import os
import threading
from pathlib import Path
from time import perf_counter_ns

import pytest

from flare_local import spans
from flare_local.errors import DiskFull, FlareError, UsageError
from flare_local.profile.reader import read_profile
from flare_local.profile.writer import ProfileWriter
from flare_local.spans import Kind, Recorder, Span, Track, beside, event, question_span, record, span, verb


@pytest.fixture
def recorder() -> Recorder:
    made = Recorder()
    record(made)
    yield made
    record(None)


def never() -> dict[str, object]:
    raise AssertionError("asked while nothing is recorded")


def test_without_a_recorder_nothing_is_made_and_nothing_asked() -> None:
    first = span(Kind.PLAN, "a", never)
    assert first is span(Kind.TEXT) is verb(Kind.SEARCH, "b", never) is question_span("Who?", never)
    event("c", never)
    beside("d")
    with first as inside:
        inside.note(anything=1)
    assert spans.current() == 0


def test_spans_of_two_threads_lie_on_two_tracks(recorder: Recorder) -> None:
    def work() -> None:
        with span(Kind.TEXT):
            pass

    thread = threading.Thread(target=work, name="other")
    thread.start()
    thread.join()
    work()
    tracks = [item for item in recorder.done if isinstance(item, Track)]
    made = [item for item in recorder.done if isinstance(item, Span)]
    assert [track.name for track in tracks] == ["other", threading.current_thread().name]
    assert [each.track for each in made] == [track.number for track in tracks]
    assert not recorder.open


def test_verbs_belong_to_the_question_of_their_task(recorder: Recorder) -> None:
    async def answer(name: str) -> int:
        with question_span(name):
            with verb(Kind.WAIT, "call"):
                await asyncio.sleep(0)
            return spans.current()

    async def both() -> list[int]:
        return await asyncio.gather(answer("one"), answer("two"))

    one, two = asyncio.run(both())
    made = [item for item in recorder.done if isinstance(item, Span)]
    assert sorted(each.track for each in made if each.kind is Kind.WAIT) == sorted([one, two])
    assert {each.name: each.track for each in made if each.kind is Kind.POLICY} == {"one": one, "two": two}


def written(path: Path, ended: str | None = "done") -> None:
    """A file with one thread, one question and its step; `ended` None: cut off as by a kill."""
    recorder = Recorder()
    writer = ProfileWriter(path, recorder, perf_counter_ns())
    run = recorder.begin(Kind.RUN, "flare-local ask", recorder.thread(), 0, {})
    record(recorder)
    with question_span("Who?"):
        with verb(Kind.SEARCH, "search"):
            pass
        event("step", lambda: {"step": lambda: {"made": "late"}})
    record(None)
    assert run.ended == 0
    writer.finish(ended or "done")
    if ended is None:
        whole = path.read_text()
        path.write_text(whole[: whole.index('"flare-local ask"')])


def test_what_was_written_is_read_back(tmp_path: Path) -> None:
    written(tmp_path / "p.json")
    read = read_profile(tmp_path / "p.json")
    assert isinstance(json.loads((tmp_path / "p.json").read_text()), list)
    assert (read.run.name, read.run.about["ended"]) == ("flare-local ask", "done")
    assert [question.name for question in read.questions] == ["Who?"]
    assert [note.about for note in read.events] == [{"step": {"made": "late"}}]
    assert [each.kind for each in read.spans if each.track == read.questions[0].track] == [Kind.POLICY, Kind.SEARCH]


def test_a_file_that_was_cut_off_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    written(tmp_path / "p.json", ended=None)
    read = read_profile(tmp_path / "p.json")
    assert read.run.about["ended"] == "killed"
    assert [question.name for question in read.questions] == ["Who?"]


def test_another_file_is_never_overwritten_a_profile_is(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    path.write_text('[\n{"question": "mine"}\n]')
    with pytest.raises(UsageError, match="is no profile"):
        ProfileWriter(path, Recorder(), 0)
    assert "mine" in path.read_text()
    path.unlink()
    written(path)
    written(path)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
def test_a_full_disk_is_told() -> None:
    with pytest.raises(DiskFull, match="cannot be written"):
        written(Path("/dev/full"))


@pytest.mark.parametrize(
    "text", ["", "{}", "no json", '[\n{"ph": "X"}\n{"ph": "X"}\n]', '[\n{"ph": "X", "cat": "new", "ts": 1}\n\n]', "[1]"]
)
def test_what_is_no_profile_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "p.json"
    path.write_text(text)
    with pytest.raises(FlareError, match=r"p\.json"):
        read_profile(path)
