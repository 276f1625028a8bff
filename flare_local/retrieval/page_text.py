"""The text of a page of the web: HTML without what is not read, and the passage of it that a query asks for."""

import re
from html.parser import HTMLParser

UNREAD = {"script", "style", "noscript", "template", "svg", "math", "head", "nav", "footer", "aside", "form", "iframe"}
UNREAD |= {"object", "canvas", "select", "button", "textarea"}
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
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]")


class _Reader(HTMLParser):
    """Collects text between blocks. An element that is not read ends with its own end tag."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self._skipping: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "body":  # a head that was never closed
            self._skipping.clear()
        if tag in UNREAD:
            self._skipping.append(tag)
        elif tag in BLOCKS:
            self.parts.append("\n")

    def handle_endtag(self, tag: str) -> None:
        if tag in self._skipping:
            while self._skipping.pop() != tag:
                pass
        if tag in BLOCKS:
            self.parts.append("\n")

    def handle_data(self, data: str) -> None:
        if not self._skipping:
            self.parts.append(data)


def text_of_html(html: str) -> str:
    """The text that a reader would see, one line a block, without control characters. Never raises for any input."""
    reader = _Reader()
    try:
        reader.feed(html)
        reader.close()
    except (AssertionError, ValueError, RecursionError):  # the parser's own, for declarations that are none
        pass
    return plain("".join(reader.parts))


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
