"""The page as text: what it holds, and that no text of a run can become markup or code."""

import json
import re
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from flare_local.report.page import embedded, page_of
from flare_local.report.reader import read_report
from tests.report.made import OF_PAGES, ROWS, evaluation, hostile, items, run

TAGS = {
    "html", "head", "meta", "title", "style", "body", "main", "section", "h1", "h2", "p", "div", "a", "i", "small",
    "table", "thead", "tr", "th", "td", "details", "summary", "figure", "figcaption", "svg", "g", "line", "text",
    "circle", "polyline", "script", "noscript",
}  # fmt: skip


class Page(HTMLParser):
    """Tags, attributes and the contents of script elements."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.style = self.policy = self.seen = ""
        self._inside = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes.update(name for name, _ in attrs)
        self._inside = tag
        if tag == "script":
            self.scripts.append((dict(attrs), ""))
        if ("http-equiv", "Content-Security-Policy") in attrs:
            self.policy = dict(attrs)["content"] or ""

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "script":
            self.scripts[-1] = (self.scripts[-1][0], self.scripts[-1][1] + data)
        elif self._inside == "style":
            self.style += data
        else:
            self.seen += data

    def data(self) -> list[Any]:
        """What the blocks of data hold."""
        return [json.loads(text) for about, text in self.scripts if about.get("type") == "application/json"]


def page(*paths: Path) -> Page:
    return Page(page_of(read_report(paths)))


def test_the_page_has_figures_differences_plots_settings_and_answers(tmp_path: Path) -> None:
    made = page(evaluation(tmp_path / "run", items(12)))
    for word in ("Scores with intervals", "Differences", "Calibration", "Retrieval", "Cost", "Settings", "FLARE minus"):
        assert word in made.seen
    assert "questions needed" in made.seen
    overview, *details = made.data()
    assert [row["title"] for row in overview["rows"]] == [row.title for row in ROWS]
    assert len(overview["questions"]) == len(details) == 12
    assert overview["questions"][0]["gold"] == "1700"
    assert {each["name"] for each in overview["settings"]} == {"method", "beta"}
    flare = details[0]["rows"][2]
    assert len(flare["steps"][0]["draft"]["p"]) == len(flare["steps"][0]["draft"]["tokens"])
    assert flare["steps"][0]["sentence"] is None  # it is the draft
    assert flare["search"]["documents"][0] == {"id": "d-Hall 0-1", "title": "Hall 0", "score": 12.5, "gold": True}


def test_a_question_without_an_answer_says_why(tmp_path: Path) -> None:
    overview, *details = page(evaluation(tmp_path / "run", items(50))).data()
    assert overview["questions"][49]["rows"][0]["answer"] is None
    assert details[49]["rows"][0] == {"error": "The model was too small."}


def test_where_probabilities_were_not_stored_there_is_the_text(tmp_path: Path) -> None:
    def poor(line: dict[str, Any]) -> None:
        for step in line["steps"]:
            step["sentence"] = {"text": step["sentence"]["text"], "ids": [], "probabilities": []}
            step["draft"] = None

    _, detail = page(evaluation(tmp_path / "run", items(1), change=poor)).data()
    assert detail["rows"][0]["steps"][0]["sentence"] == {"text": " The architect of hall number 0 was Edwin Tarrow."}


def test_a_plain_run_makes_a_page(tmp_path: Path) -> None:
    made = page(run(tmp_path / "mine", ROWS[2], items(5)))
    assert "mine" in made.seen
    assert "Nothing judges them" in made.seen
    assert "Calibration" not in made.seen
    assert made.data()[0]["questions"][0]["rows"][0]["right"] is None


def test_hostile_texts_make_no_markup(tmp_path: Path) -> None:
    made = page(hostile(tmp_path / "run"))
    assert made.tags <= TAGS
    assert not {name for name in made.attributes if name.startswith("on") or name in ("src", "action", "style")}
    overview, *details = made.data()
    assert len([about for about, _ in made.scripts if not about]) == 1  # the page's own
    assert overview["questions"][-len(OF_PAGES)]["question"] == OF_PAGES[0]
    assert details[-len(OF_PAGES)]["rows"][0]["steps"][0]["sentence"]["tokens"][0] == OF_PAGES[0]
    assert OF_PAGES[0] in made.seen  # the title of a row, as text


def test_nothing_that_steers_a_reader_is_in_the_page(tmp_path: Path) -> None:
    text = page_of(read_report([hostile(tmp_path / "run")]))
    assert not set("\u2028\u2029\u202e\x00\x1b\x07") & set(text)
    shown = json.dumps(Page(text).data(), ensure_ascii=False)
    assert not set("\u2028\u2029\u202e\x00\x1b\x07") & set(shown)
    assert "\\\\u202e" in shown


@pytest.mark.parametrize("text", OF_PAGES)
def test_a_block_of_data_comes_back_as_it_was(text: str) -> None:
    block = embedded({text: text})
    assert json.loads(block) == {text: text}
    assert block.isascii()
    assert not set("<>&") & set(block)


def test_the_policy_allows_the_pages_own_style_and_script_alone(tmp_path: Path) -> None:
    made = page(evaluation(tmp_path / "run", items(1)))
    (script,) = (text for about, text in made.scripts if not about)
    hashes = [b64encode(sha256(text.encode()).digest()).decode() for text in (made.style, script)]
    assert made.policy == (
        f"default-src 'none'; style-src 'sha256-{hashes[0]}'; script-src 'sha256-{hashes[1]}'; "
        "base-uri 'none'; form-action 'none'"
    )
    for way in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function("):
        assert way not in script
    assert not re.search(r"https?:|url\(|@import", made.style + script)
