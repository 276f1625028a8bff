"""An answer on a terminal, step by step: draft with its improbable tokens marked, query, documents, sentence."""

from math import floor

from rich.console import Console
from rich.table import Table
from rich.text import Text

from flare_local.engine.counters import Counters
from flare_local.policies.query import masked
from flare_local.policies.rules import Rules
from flare_local.policies.trigger import improbable
from flare_local.retrieval.document import Document
from flare_local.trace.events import Answer, Event, Foresight, Search, Step, Writing
from flare_local.trace.safe_text import safe_line

LABEL = 10  # columns of the words on the left
DOCUMENT = 160  # characters of a document that are shown
MASKED, IMPROBABLE, QUIET, GOOD = "bold red", "yellow", "dim", "green"


class TraceView:
    """An observer of one answer. Marks also tell without colour: `token(.62)` under theta, `token[.31]` under beta."""

    def __init__(self, console: Console, rules: Rules) -> None:
        self._console = console
        self._rules = rules

    def begin(self, question: str) -> None:
        """Prints the question, and what the marks mean."""
        self._line("question", Text(safe_line(question), "bold"))
        legend = Text("word")
        legend.append("(.62)", IMPROBABLE).append(f" under theta {self._rules.theta:g}; word")
        legend.append("[.31]", MASKED).append(f" under beta {self._rules.beta:g}, left out of the query")
        self._line("", legend, QUIET)

    def __call__(self, event: Event) -> None:
        """Prints the question's search, or a step."""
        if isinstance(event, Search):
            self._search(event)
        else:
            self._step(event)

    def answer(self, answer: Answer) -> None:
        """Prints the answer as a whole."""
        self._console.print()
        self._line("answer", Text(safe_line(answer.text), f"bold {GOOD}"))

    def finish(self, answer: Answer) -> None:
        """Prints why the answer ended and what it cost."""
        self._line("ended", Text(answer.stop_reason.value), QUIET)
        self._console.print(counters_table(answer.counters))
        if answer.question_counters is not None:
            self._line("questions", Text("question model: " + question_cost(answer.question_counters)), QUIET)

    def _step(self, step: Step) -> None:
        self._console.print()
        head = Text(f"step {step.number}", "bold")
        head.append(f"  {step.ms / 1000:.2f} s", QUIET)
        self._console.print(head)
        for writing in step.writings:
            if writing.cut is not None:
                self._line("left out", Text(f"{writing.cut}, as the model's context is full"), QUIET)
        if step.draft is not None:
            self._line("draft", marked(step.draft, self._rules))
        for writing in step.asked:
            by = "  (question model)" if writing.question_model else ""
            self._line("asked", Text(safe_line(writing.text.strip()) + by), QUIET)
        if step.search is not None:
            self._search(step.search)
        elif step.triggered:
            self._line("query", Text("nothing left to search for"), QUIET)
        if step.foresight is not None:
            self._line("ahead", Text(_foresight(step.foresight)), QUIET)
        if not step.accepted:
            self._line("sentence", Text(safe_line(step.text.strip()), GOOD))
        elif step.sentence.tokens:
            self._line("sentence", Text("the draft as it is"), QUIET)
        if step.kept is not None:
            call = step.sentence.text + (step.call.text if step.call is not None else "")
            self._line("call", Text(safe_line(call[len(step.text) :].strip())), QUIET)

    def _search(self, search: Search) -> None:
        for query in search.queries:
            self._line("query", Text(safe_line(query), "cyan"))
        if not search.documents:
            self._line("found", Text("nothing"), QUIET)
        for document in search.documents:
            self._line("found" if document.rank == 1 else "", document_line(document))

    def _line(self, label: str, text: Text, style: str = "") -> None:
        if not self._console.is_terminal:  # one line stays one line
            self._console.print(f"{label:<{LABEL}} {text.plain}", soft_wrap=True)
            return
        grid = Table.grid(padding=(0, 1))
        grid.add_column(width=LABEL, no_wrap=True, style=QUIET)
        grid.add_column(style=style, overflow="fold")
        grid.add_row(label, text)
        self._console.print(grid)


def marked(draft: Writing, rules: Rules) -> Text:
    """The draft's tokens, each improbable one followed by its probability."""
    text = Text()
    generation = draft.generation
    for piece, probability in zip(generation.pieces, generation.probabilities, strict=True):
        word = safe_line(piece if text else piece.lstrip(" "))
        if masked(probability, rules):
            text.append(word, MASKED).append(f"[{_short(probability)}]", MASKED)
        elif improbable(probability, rules):
            text.append(word, IMPROBABLE).append(f"({_short(probability)})", IMPROBABLE)
        else:
            text.append(word)
    return text if text else Text("nothing: the answer ends", QUIET)


def document_line(document: Document) -> Text:
    """Rank, title and the beginning of a document's text."""
    text = Text(f"[{document.rank}] ")
    if document.title:
        text.append(safe_line(document.title), "bold").append(": ")
    contents = " ".join(document.text.split())
    text.append(safe_line(contents[:DOCUMENT] + "…" if len(contents) > DOCUMENT else contents))
    return text.append(f"  {document.score:.2f}", QUIET)


def counters_table(counters: Counters) -> Table:
    """What an answer cost, in tokens and milliseconds."""
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    tokens = [
        ("model calls", counters.calls),
        ("forwards", counters.forwards),
        ("prompt tokens", counters.prompt_tokens),
        ("tokens run", counters.run),
        ("  reused", counters.reused),
        *([("  warm", counters.warm)] if counters.warm else []),
        ("  recomputed", counters.recomputed),
        ("  wasted", counters.wasted),
        ("  floor", counters.floor),
        ("drafted", counters.drafted),
        ("  accepted", counters.accepted),
        ("evicted", counters.evicted),
    ]
    times = [
        ("prefill", counters.prefill_ms),
        ("decode", counters.decode_ms),
        ("verify", counters.verify_ms),
        ("search", counters.search_ms),
        ("other", counters.other_ms),
        ("total", counters.total_ms),
    ]
    for _ in range(2):
        table.add_column(style=QUIET)
        table.add_column(justify="right")
    for row, (name, count) in enumerate(tokens):
        time = (times[row][0], f"{times[row][1]:,.0f} ms") if row < len(times) else ("", "")
        table.add_row(name, f"{count:,}", *time)
    return table


def question_cost(counters: Counters) -> str:
    """What the question model cost, in one line."""
    spent = counters.prefill_ms + counters.decode_ms + counters.verify_ms
    return f"{counters.calls:,} calls, {counters.run:,} tokens run, {counters.reused:,} reused, {spent:,.0f} ms"


def _short(probability: float) -> str:
    """Two digits, rounded down, so that .799 never looks like theta .8."""
    hundredths = floor(probability * 100)
    return "1" if hundredths >= 100 else f".{hundredths:02d}"


def _foresight(ahead: Foresight) -> str:
    searches = f"{ahead.searches} searches while the draft was written"
    if ahead.kept:
        return f"{searches}; these documents were read {ahead.hidden_ms:.0f} ms beside it"
    return f"{searches}; {ahead.read} lists of documents read in vain"
