"""`--profile` and `flare-local profile`, with a tiny model and a real index."""

import json
import signal
from collections import Counter
from html.parser import HTMLParser
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from flare_local import spans
from flare_local.profile.account import ran_by
from flare_local.profile.reader import Profile, read_profile
from flare_local.profile.summary import Summary, summary_of
from flare_local.spans import FORWARDS, Kind
from tests.cli.shell import Said, Shell, is_one_clear_line, process
from tests.cli.test_interrupt import LIMIT, at_moment, seconds_to_end
from tests.tiny_models import tiny_questions

QUESTION = "Who was Anna Borg?"
HOSTILE = "Who wrote <script>alert('1')</script> & \"<img src=x onerror=alert(2)>\"?\x1b[31m\u202e"
FILE = Path("p.json")


@pytest.fixture
def ask(shell: Shell, model: Path, index: Path) -> Any:
    """`ask` with the tiny model and index, short answers and the profile p.json."""

    def run(*words: str | Path, question: str = QUESTION) -> Said:
        short = ("--max-new-tokens", "40", "--profile", FILE)
        return shell("ask", question, "--model", model, "--index", index, *short, *words)

    return run


def adds_up(profile: Profile, summary: Summary) -> bool:
    """Every span lies inside those around it, and every nanosecond counts once."""
    by_track = sorted(profile.spans, key=lambda span: (span.track, span.began, -span.ended))
    for _, track in groupby(by_track, key=lambda span: span.track):
        around = []
        for span in track:
            while around and around[-1].ended <= span.began:
                around.pop()
            assert not around or span.ended <= around[-1].ended, (span, around[-1])
            around.append(span)
    accounts = [summary.account, *(question.account for question in summary.questions)]
    assert all(sum(account.wall.values()) == account.length for account in accounts)
    return True


def counts(profile: Profile, summary: Summary) -> list[tuple[int, int, int, int]]:
    """Of each question. As in the counters, a forward counts for each call that took part in it."""
    ran = [profile.question_of(ran.question) for span in profile.spans if span.kind in FORWARDS for ran in ran_by(span)]
    return [
        (ran.count(span.track), each.tokens, each.proposals, each.accepted)
        for span, each in zip(profile.questions, summary.questions, strict=True)
    ]


def counted(answer: dict[str, Any]) -> tuple[int, int, int, int]:
    counters = answer["counters"]
    return (counters["forwards"], counters["run"], counters["drafted"], counters["accepted"])


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--theta", "1"],
        ["--schedule", "released"],
        ["--method", "flare_instruct", "--search-bias", "20"],
        ["--query", "explicit", "--theta", "1"],
        ["--theta", "1", "--search-ahead"],
        ["--no-reuse"],
        ["--method", "no_retrieval"],
    ],
    ids=" ".join,
)
def test_the_trace_counts_what_the_counters_count(ask: Any, words: list[str]) -> None:
    said = ask("--json", *words)
    assert said.code == 0
    answer = json.loads(said.out)
    profile = read_profile(FILE)
    summary = summary_of(profile)
    assert adds_up(profile, summary)
    assert counts(profile, summary) == [counted(answer)]
    question = profile.questions[0]
    assert (question.name, question.about["answer"]) == (QUESTION, answer["answer"])
    searches = sum(bool(step["queries"]) for step in answer["steps"]) + (answer["search"] is not None)
    own = [span for span in profile.spans if span.track == question.track and span.kind is Kind.SEARCH]
    assert len(own) == searches
    assert len([event for event in profile.events if "step" in event.about]) == len(answer["steps"])


def test_a_profile_changes_no_answer_and_ends_with_its_command(
    ask: Any, shell: Shell, model: Path, index: Path
) -> None:
    profiled = ask()
    plain = shell("ask", QUESTION, "--model", model, "--index", index, "--max-new-tokens", "40")
    assert profiled.out == plain.out
    assert plain.err == ""
    assert profiled.err == "Profile: p.json (flare-local profile p.json)\n"
    assert not spans.recording()


def test_every_question_of_a_batch_is_counted_by_itself(shell: Shell, model: Path, index: Path) -> None:
    questions = tiny_questions(6, 77)
    Path("questions.txt").write_text("\n".join(questions) + "\n", encoding="utf-8")
    said = shell(
        "batch", "questions.txt", "--out", "run", "--model", model, "--index", index, "--max-new-tokens", "24",
        "--theta", "1", "--concurrency", "3", "--profile", FILE,
    )  # fmt: skip
    assert said.code == 0, said.err
    rows = [json.loads(line) for line in Path("run/results.jsonl").read_text().splitlines()]
    profile = read_profile(FILE)
    summary = summary_of(profile)
    assert adds_up(profile, summary)
    assert Counter(counts(profile, summary)) == Counter(map(counted, rows))
    assert {each.question: each.tokens for each in summary.questions} == {
        row["question"]: row["counters"]["run"] for row in rows
    }
    together = [span for span in profile.spans if span.kind in FORWARDS and len(span.about["calls"]) > 1]
    assert together  # questions met in one forward


def test_the_file_is_what_perfetto_reads(ask: Any) -> None:
    ask()
    events = json.loads(FILE.read_text())
    assert {event["ph"] for event in events} == {"M", "X"}
    named = {(event["pid"], event["tid"]) for event in events if event["name"] == "thread_name"}
    timed = [event for event in events if event["ph"] == "X"]
    assert {(event["pid"], event["tid"]) for event in timed} <= named
    assert all(event["ts"] >= 0 and event["dur"] >= 0 for event in timed)
    starts = {event["cat"] for event in timed}
    assert {"python", "imports", "model", "check", "pool", "index"} <= starts


def test_a_run_that_fails_leaves_its_profile(ask: Any) -> None:
    assert is_one_clear_line(ask("--kv-memory", "1KiB"))
    assert read_profile(FILE).run.about["ended"] == "error"


@pytest.mark.parametrize(
    "moment",
    ["flare_local.engine.model:load_model", "flare_local.engine.forward:PackedForward._run", "jnius"],
)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_an_interrupted_run_leaves_its_profile(
    moment: str, number: int, model: Path, index: Path, tmp_path: Path
) -> None:
    path = tmp_path / "p.json"
    words = ["ask", QUESTION, "--model", model, "--index", index, "--profile", path, "--max-new-tokens", "1900"]
    running = at_moment(moment, *words)
    assert seconds_to_end(running, number) < LIMIT
    assert running.returncode == 128 + number
    profile = read_profile(path)
    assert profile.run.about["ended"] == "interrupted"
    assert adds_up(profile, summary_of(profile))


def test_a_run_as_a_process_is_accounted_from_its_first_moment(model: Path, index: Path, tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    assert process("ask", QUESTION, "--model", model, "--index", index, "--profile", path).code == 0
    profile = read_profile(path)
    first = profile.spans[1]
    assert (profile.spans[0].kind, first.kind, first.began) == (Kind.RUN, Kind.PYTHON, 0)
    java = next(span for span in profile.spans if span.kind is Kind.JAVA)
    assert profile.tracks[java.track].name != "MainThread"  # beside the imports


def test_the_command_tells_the_account(ask: Any, shell: Shell) -> None:
    ask("--theta", "1")
    said = shell("profile", FILE)
    assert said.code == 0
    for word in ("start", "forwards", "search", "host work", "all", "100.0%", "slowest", QUESTION, "outside"):
        assert word in said.out
    value = json.loads(shell("profile", FILE, "--json").out)
    for account in (value["run"], value["answering"], value["questions"][0]["account"]):
        assert sum(account["kinds"].values()) == pytest.approx(account["wall_ms"], rel=1e-9)
        assert sum(account["groups"].values()) == pytest.approx(account["wall_ms"], rel=1e-9)
    assert value["ended"] == "done"


class Page(HTMLParser):
    """Tags and attributes of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.data = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes.update(name for name, _ in attrs)

    def handle_data(self, data: str) -> None:
        self.data += data


def test_the_page_shows_the_answer_and_runs_nothing(ask: Any, shell: Shell) -> None:
    ask("--theta", "1", question=HOSTILE)
    assert shell("profile", FILE, "--html", "page.html").code == 0
    text = Path("page.html").read_text(encoding="utf-8")
    page = Page(text)
    assert page.tags <= {
        "html", "head", "meta", "title", "style", "body", "main", "section", "h1", "h2", "h3", "p", "div", "span", "i",
        "b", "svg", "rect", "text", "line", "dl", "dt", "dd", "table", "tr", "th", "td",
    }  # fmt: skip
    assert not {name for name in page.attributes if name.startswith("on") or name in ("src", "href", "action")}
    assert "<script>alert('1')</script>" in page.data  # as text
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "http:" not in text.replace("http-equiv", "")
    assert "https:" not in text
    for word in ("Timeline", "Step 1", "draft", "query", "found", "sentence"):
        assert word in page.data


def test_hostile_documents_are_data(ask: Any, shell: Shell) -> None:
    ask("--theta", "1")
    bad = "<script>alert(3)</script><img src=x onerror=alert(4)>"
    events = json.loads(FILE.read_text())
    for event in events:
        if event["name"] == "step":
            step = event["args"]["step"]
            step |= {"documents": [bad], "queries": [bad], "asked": [bad]}
            step["draft"] = {"tokens": [bad], "probabilities": [0.5], "stop": bad}
            step["sentence"] = {"tokens": [], "probabilities": [], "stop": bad}
        if event["ph"] == "M":
            event["args"]["name"] = bad
    FILE.write_text("[\n" + ",\n".join(map(json.dumps, events)) + "\n]\n")
    assert shell("profile", FILE, "--html", "page.html").code == 0
    text = Path("page.html").read_text(encoding="utf-8")
    assert not {"script", "img"} & Page(text).tags
    assert text.count("alert(3)") > 3


@pytest.mark.parametrize("words", [["no-such-file"], ["."], ["questions.txt"]])
def test_what_is_no_profile_is_told_in_one_line(shell: Shell, words: list[str]) -> None:
    Path("questions.txt").write_text("Who?\n")
    assert is_one_clear_line(shell("profile", *words))


def test_where_the_profile_cannot_be_written_nothing_starts(ask: Any, shell: Shell, model: Path) -> None:
    assert is_one_clear_line(ask("--profile", "no/such/folder/p.json"))
    Path("mine.txt").write_text("mine\n")
    assert is_one_clear_line(ask("--profile", "mine.txt"), code=2)
    assert Path("mine.txt").read_text() == "mine\n"
