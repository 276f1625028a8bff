"""What a run spends its time on: spans of time, each of one kind, recorded while a profile is wanted, else nothing.

Any layer may call `span`. With no recorder it costs a function call and keeps nothing. A span lies on a track: that of
the thread it runs on, or that of a question, whose verbs wait while other code runs on the same thread. Invariant: the
spans of one track nest.
"""

import threading
from collections import deque
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from enum import StrEnum
from functools import wraps
from itertools import count
from time import perf_counter_ns
from types import TracebackType
from typing import Any, ParamSpec, Self, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
About = Callable[[], dict[str, Any]]  # asked only while a profile is written; the values go to JSON, callables called


class Kind(StrEnum):
    """What a span's own time is. Where several threads work at once, a moment counts for the kind that stands first."""

    PREFILL = "prefill"  # forwards
    DECODE = "decode"
    VERIFY = "verify"
    MIXED = "mixed"
    PLAN = "plan"  # what the next forward runs, and which rows read which keys
    SCORE = "score"  # arg max, probabilities, sampling
    TEXT = "text"  # of token ids
    SENTENCE = "sentence"  # is it complete
    TREE = "tree"  # look-ups in the prefix tree, what a forward brought taken in
    PROMPT = "prompt"  # prompts and queries in token ids
    OUTPUT = "output"  # answers and progress shown, written
    SEARCH = "search"
    POLICY = "policy"  # a question between two of its verbs
    PYTHON = "python"  # interpreter and command line
    IMPORTS = "imports"
    MODEL = "model"  # tokenizer and weights
    CHECK = "check"
    POOL = "pool"
    JAVA = "java"
    INDEX = "index"
    CLOSE = "close"
    OTHERS = "others"  # of a question: a forward of other questions
    WAIT = "wait"  # a call between submission and result, with none of the above running
    RUN = "run"  # the whole run; its own time is what no span names
    NOTE = "note"  # something that happened, without a length


VERBS = frozenset({Kind.WAIT, Kind.SEARCH})  # of a question
AT_ONCE = "at once"  # the name of tracks for verbs of a question that has another on its way
FORWARDS = frozenset({Kind.PREFILL, Kind.DECODE, Kind.VERIFY, Kind.MIXED})


@dataclass
class Span:
    """A context manager that records itself when it ends."""

    kind: Kind
    name: str
    track: int
    question: int  # track of the question that it works for; 0: none
    began: int  # ns of perf_counter
    ended: int = 0
    about: dict[str, Any] = field(default_factory=dict)
    to: "Recorder | None" = field(default=None, compare=False, repr=False)

    def note(self, **about: Any) -> None:
        """Adds what is known only now. Not to be called once it has ended."""
        self.about.update(about)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.ended = perf_counter_ns()
        if self.to is not None:
            self.to.end(self)


class _Nothing:
    """Stands for a span where nothing is recorded."""

    recorded = False

    def note(self, **about: Any) -> None:
        return

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        return


_NOTHING = _Nothing()


@dataclass(frozen=True)
class Track:
    """A line of the timeline."""

    number: int  # from 1
    name: str
    of: int | None = None  # None: a thread. 0: a question. Else what is done beside the question of that track


class Recorder:
    """Keeps spans until they are taken. Safe to use from any thread."""

    def __init__(self) -> None:
        self.done: deque[Span | Track] = deque()  # a track stands before its first span
        self.open: dict[int, Span] = {}  # by id
        self._numbers = count(1)
        self._threads = threading.local()
        self._waiting: set[int] = set()  # tracks of questions that have a verb on its way
        self._questions: dict[int, int] = {}  # track beside a question -> that one
        self._spare: dict[int, list[int]] = {}  # question -> tracks for verbs beside that one

    def track(self, name: str, of: int | None) -> int:
        """A new line of the timeline; see `Track`. What is done beside something that is beside a question is too."""
        if of:
            of = self._questions.get(of, of)
        track = Track(next(self._numbers), name, of)
        if of:
            self._questions[track.number] = of
        self.done.append(track)
        return track.number

    def thread(self) -> int:
        """The track of the thread that asks."""
        number = getattr(self._threads, "track", None)
        if number is None:
            number = self._threads.track = self.track(threading.current_thread().name, None)
        return int(number)

    def free(self, question: int) -> int:
        """A track for a verb of the question: its own, or one beside it while another verb is on its way there."""
        tracks = [question, *self._spare.get(question, ())]
        found = next((track for track in tracks if track not in self._waiting), None)
        if found is None:
            found = self.track(AT_ONCE, question)
            self._spare.setdefault(question, []).append(found)
        self._waiting.add(found)
        return found

    def begin(self, kind: Kind, name: str, track: int, question: int, about: Mapping[str, Any]) -> Span:
        """A span that begins now."""
        made = Span(kind, name, track, question, perf_counter_ns(), about=dict(about), to=self)
        self.open[id(made)] = made
        return made

    def end(self, span: Span) -> None:
        """Takes a span that has ended, unless all were ended already."""
        if self.open.pop(id(span), None) is None:
            return
        if span.kind in VERBS:
            self._waiting.discard(span.track)
        self.done.append(span)

    def end_all(self, why: str) -> None:
        """Ends what is still open, on all threads at one moment."""
        now = perf_counter_ns()
        while self.open:
            _, span = self.open.popitem()
            span.ended = max(now, span.began)
            span.note(ended=why)
            self.done.append(span)


_recorder: Recorder | None = None
_question: ContextVar[int] = ContextVar("question", default=0)  # track of the question that a task works for


def record(recorder: Recorder | None) -> None:
    """From now on spans go to `recorder`; None: to nobody."""
    global _recorder
    _recorder = recorder


def recording() -> bool:
    """Whether spans are kept."""
    return _recorder is not None


def span(kind: Kind, name: str = "", about: About | None = None) -> Span | _Nothing:
    """What runs in the `with` block on this thread."""
    to = _recorder
    if to is None:
        return _NOTHING
    return to.begin(kind, name, to.thread(), _question.get(), about() if about is not None else {})


def spanned(kind: Kind, name: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """A decorator: every call of the function is a span."""

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        @wraps(function)
        def wrapper(*arguments: P.args, **named: P.kwargs) -> T:
            with span(kind, name):
                return function(*arguments, **named)

        return wrapper

    return decorate


def question_span(text: str, about: About | None = None) -> Span | _Nothing:
    """One question from its start to its answer, on a track of its own, to which the task's verbs belong."""
    to = _recorder
    if to is None:
        return _NOTHING
    track = to.track(text, 0)
    _question.set(track)
    return to.begin(Kind.POLICY, text, track, track, about() if about is not None else {})


def verb(kind: Kind, name: str, about: About | None = None) -> Span | _Nothing:
    """What the task's question waits for in the `with` block."""
    to, question = _recorder, _question.get()
    if to is None or not question:
        return _NOTHING
    track = to.free(question)
    return to.begin(kind, name, track, track, about() if about is not None else {})


def event(name: str, about: About) -> None:
    """Something that has happened to the task's question."""
    to, track = _recorder, _question.get()
    if to is not None and track:
        noted = to.begin(Kind.NOTE, name, track, track, about())
        noted.ended = noted.began
        to.end(noted)


def beside(name: str) -> None:
    """From here on, what this task does is done beside its question."""
    to, question = _recorder, _question.get()
    if to is not None and question:
        _question.set(to.track(name, question))


def current() -> int:
    """The track of the task's question; 0: none, or nothing is recorded."""
    return _question.get() if _recorder is not None else 0
