"""The page in a real browser: nothing goes out, hostile texts do nothing, filters filter, 500 questions are there soon.

Needs Playwright and a Chromium: the machine's own, or that of `playwright install chromium`.
"""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from flare_local.report.page import page_of
from flare_local.report.reader import read_report
from tests.report.made import OF_PAGES, ROWS, evaluation, hostile, items, run

SOON = 20_000  # ms, on a machine that others keep busy; docs/report.md says what was measured


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    own = next(filter(None, map(shutil.which, names)), None)
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []  # which root may not have
    with playwright.sync_playwright() as running:
        try:
            opened = running.chromium.launch(executable_path=own, args=arguments)
        except playwright.Error as error:
            pytest.skip(f"no browser: {str(error).splitlines()[0]}; `apt-get install chromium` brings one")
        yield opened
        opened.close()


class Opened:
    """A page in a tab, with all that it asked for and complained of."""

    def __init__(self, browser: Any, path: Path) -> None:
        self.tab = browser.new_context(offline=True).new_page()
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.tab.on("request", lambda request: self.requests.append(request.url))
        self.tab.on("console", lambda message: self.complaints.append(message.text))
        self.tab.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.tab.on("dialog", lambda dialog: self.complaints.append(dialog.message))
        self.tab.goto(path.as_uri())
        self.tab.wait_for_selector(".question")

    def count(self) -> int:
        """Questions that the page says it shows."""
        return int(self.tab.inner_text(".count").split()[0])

    def open_all(self) -> None:
        """Scrolls to the end and opens every question."""
        total = self.count()
        while (there := self.tab.locator(".question").count()) < total:
            self.tab.mouse.wheel(0, 100_000)
            self.tab.wait_for_function("count => document.querySelectorAll('.question').length > count", arg=there)
        self.tab.evaluate("document.querySelectorAll('.question > button').forEach((button) => button.click())")


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    page = folder / "report.html"
    page.write_text(page_of(read_report([evaluation(folder / "run", items(500))])), "utf-8")
    return page


@pytest.fixture
def opened(browser: Any, written: Path) -> Opened:
    return Opened(browser, written)


def test_nothing_goes_out(opened: Opened, written: Path) -> None:
    opened.tab.locator(".question > button").first.click()
    assert opened.requests == [written.as_uri()]
    assert opened.complaints == []


def test_500_questions_are_there_soon(opened: Opened, record_property: Any) -> None:
    taken = opened.tab.evaluate("performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd")
    record_property("ms", taken)
    print(f"500 questions, 4 rows: {taken:.0f} ms")
    assert opened.count() == 500
    assert opened.tab.locator(".question").count() < 200  # the others come while the reader scrolls
    assert taken < SOON


def test_the_list_grows_to_all_questions(opened: Opened) -> None:
    opened.open_all()
    assert opened.tab.locator(".question .side").count() == 1000
    assert opened.complaints == []


@pytest.mark.parametrize("row", [0, 2])
def test_right_and_wrong_are_told_apart(opened: Opened, row: int) -> None:
    opened.tab.select_option("#first", str(row))
    counts = {}
    for name, mark in (("right", "✓"), ("wrong", "✗"), ("none", "∅")):
        opened.tab.select_option("#right", name)
        counts[name] = opened.count()
        shown = opened.tab.locator(".question .marks").all_inner_texts()
        assert all(f"{row + 1}{mark}" in text for text in shown)
    assert counts["none"] == 10
    assert sum(counts.values()) == 500


def test_triggered_and_differing_answers_are_found(opened: Opened) -> None:
    opened.tab.select_option("#first", "2")
    opened.tab.select_option("#second", "0")
    counts = {}
    for name in ("triggered", "calm"):
        opened.tab.select_option("#triggered", name)
        counts[name] = opened.count()
    assert 0 < counts["triggered"] < 490
    assert sum(counts.values()) == 490
    opened.tab.select_option("#triggered", "")
    opened.tab.select_option("#apart", "better")
    better = opened.count()
    opened.tab.select_option("#first", "0")
    opened.tab.select_option("#second", "2")
    opened.tab.select_option("#apart", "worse")
    assert opened.count() == better > 0
    assert "method no_retrieval / flare_direct" in opened.tab.inner_text(".unlike")


def test_words_are_searched(opened: Opened) -> None:
    opened.tab.fill("#search", "NUMBER 37 hall")
    opened.tab.wait_for_function("() => document.querySelector('.count').textContent.startsWith('15 of')")
    opened.tab.fill("#search", "no such words")
    opened.tab.wait_for_function("() => document.querySelector('.count').textContent.startsWith('0 of')")


def test_an_opened_question_shows_how_its_answers_came_about(opened: Opened) -> None:
    opened.tab.select_option("#first", "2")
    opened.tab.select_option("#triggered", "searched")
    opened.tab.locator(".question > button").first.click()
    text = opened.tab.inner_text(".opened")
    for word in ("also right", "AD 17", "Hall", "draft", "query", "found", "Lantern Theatre", "sentence", "EM"):
        assert word in text
    assert opened.tab.locator(".opened .low, .opened .lower").count() > 0
    opened.tab.locator(".question > button").first.press("Enter")
    assert opened.tab.locator(".opened").count() == 0


def test_hostile_texts_are_harmless(browser: Any, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    page.write_text(page_of(read_report([hostile(tmp_path / "run")])), "utf-8")
    opened = Opened(browser, page)
    before = opened.tab.locator("script").count()
    opened.open_all()
    assert opened.complaints == []  # no dialog, no error, and nothing that the policy had to stop
    assert opened.requests == [page.as_uri()]
    assert opened.tab.title() == f"{OF_PAGES[0]}: report"
    assert opened.tab.locator("script").count() == before
    assert opened.tab.locator("img, iframe, a[href^=javascript], .question style").count() == 0
    assert OF_PAGES[0] in opened.tab.inner_text("#questions")


def test_the_policy_stops_a_script_that_got_in(browser: Any, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    text = page_of(read_report([run(tmp_path / "run", ROWS[2], items(1))]))
    page.write_text(text.replace("<h1>", "<script>document.title = 'owned'</script><h1>", 1), "utf-8")
    opened = Opened(browser, page)
    assert opened.tab.title() == "run: report"
    assert "Content Security Policy" in opened.complaints[0]
