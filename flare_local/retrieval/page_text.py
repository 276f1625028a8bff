"""The text of a page of the web: HTML without what is not read, and the passage of it that a query asks for.

A scanner of its own, since Python's `html.parser` takes minutes for pages made to be slow: this one looks at every
character a fixed number of times, whatever the page.
"""

import re
from collections import Counter
from html import unescape

UNREAD = {"script", "style", "noscript", "template", "svg", "math", "head", "nav", "footer", "aside", "form", "iframe"}
UNREAD |= {"object", "canvas", "select", "button", "textarea"}
RAW = {"script", "style", "textarea"}  # elements that hold no tags
BLOCKS = {
    "p",
    "div",
    "li",
    "br",
    "tr",
    "td",
    "th",
    "dt",
    "dd",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "section",
    "article",
}
BLOCKS |= {"ul", "ol", "dl", "table", "blockquote", "pre", "main", "header", "figure", "figcaption", "hr"}
PASSAGE = 100  # words; as the passages of the paper's Wikipedia
_WORD = re.compile(r"\w+")
_NAME = re.compile(r"</?([a-z][a-z0-9-]{0,30})")
_LOWER = str.maketrans({chr(code): chr(code + 32) for code in range(ord("A"), ord("Z") + 1)})
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]")


class _Scanner:
    """Goes through a page once. What is never closed ends with the page."""

    def __init__(self, html: str) -> None:
        self.parts: list[str] = []
        self._html = html
        self._lower = html.translate(_LOWER)
        self._skipping: list[str] = []  # elements that are not read and still open
        self._open: Counter[str] = Counter()  # the same, counted
        self._quoted = True  # whether a quotation mark may still follow

    def scan(self) -> None:
        """Fills `parts`."""
        at = 0
        while (tag := self._html.find("<", at)) >= 0:
            self._text(at, tag)
            at = self._behind(tag)
        self._text(at, len(self._html))

    def _behind(self, at: int) -> int:
        """Where what begins with the `<` at `at` ends."""
        if self._html.startswith("<!--", at):
            return self._after("-->", at + 4)
        name = _NAME.match(self._lower, at)
        if name is None:
            if self._html.startswith(("<!", "<?"), at):
                return self._after(">", at)
            self._text(at, at + 1)
            return at + 1
        end = self._tag_end(at)
        self._tag(name[1], closing=self._html[at + 1] == "/")
        if name[1] in RAW and self._html[at + 1] != "/":
            closed = self._lower.find(f"</{name[1]}", end)
            return len(self._html) if closed < 0 else closed
        return end

    def _tag_end(self, at: int) -> int:
        """A `>` inside a quoted value is passed over, once a tag."""
        end = self._after(">", at)
        if self._quoted and self._html.count('"', at, end) % 2:
            quote = self._html.find('"', end)
            self._quoted = quote >= 0
            if self._quoted:
                return self._after(">", quote)
        return end

    def _after(self, what: str, at: int) -> int:
        found = self._html.find(what, at)
        return len(self._html) if found < 0 else found + len(what)

    def _tag(self, name: str, closing: bool) -> None:
        if name in BLOCKS:
            self.parts.append("\n")
        if name == "body" and not closing:  # a head that was never closed
            self._skipping.clear()
            self._open.clear()
        elif name in UNREAD and not closing:
            self._skipping.append(name)
            self._open[name] += 1
        elif self._open[name]:
            while (closed := self._skipping.pop()) != name:
                self._open[closed] -= 1
            self._open[name] -= 1

    def _text(self, begin: int, end: int) -> None:
        if not self._skipping:
            self.parts.append(self._html[begin:end])


def text_of_html(html: str) -> str:
    """The text that a reader would see, one line a block, without control characters. Never raises for any input."""
    scanner = _Scanner(html)
    scanner.scan()
    return plain(unescape("".join(scanner.parts)))


def plain(text: str) -> str:
    """Lines without blanks around them, empty ones and control characters left out."""
    lines = (" ".join(line.split()) for line in _CONTROL.sub("", text.replace("\r", "\n")).split("\n"))
    return "\n".join(line for line in lines if line)


def best_passage(text: str, query: str, words: int = PASSAGE) -> str:
    """The `words` words of a text, cut every half passage, in which the most different words of the query stand.

    Ties go to the earliest.
    """
    all_words = text.split()
    if len(all_words) <= words:
        return text
    wanted = {word.lower() for word in _WORD.findall(query)}
    starts = range(0, max(1, len(all_words) - words // 2), max(1, words // 2))
    passages = [" ".join(all_words[start : start + words]) for start in starts]
    return max(passages, key=lambda passage: len(wanted & {word.lower() for word in _WORD.findall(passage)}))
