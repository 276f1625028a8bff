"""`flare-local ask`: one question, its answer sentence by sentence."""

import asyncio
import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Annotated

import typer

from flare_local.cli.console import err
from flare_local.cli.opening import (
    Task,
    context_of,
    open_codec,
    open_index_of,
    question_model,
    say_what_is_embedded,
    task_of,
    with_exemplar_documents,
)
from flare_local.cli.options import with_options
from flare_local.cli.profiling import with_profile
from flare_local.cli.sources import Options
from flare_local.cli.start import start
from flare_local.config import ModelOptions
from flare_local.errors import UsageError
from flare_local.policies.answering import Observer
from flare_local.policies.dry_run import SilentModel
from flare_local.trace.events import Answer, Event, Step
from flare_local.trace.json import answer_line
from flare_local.trace.safe_text import safe_text
from flare_local.trace.terminal import TraceView

if TYPE_CHECKING:
    from flare_local.retrieval.index import Index


@with_options()
@with_profile
def ask(
    question: Annotated[str, typer.Argument(help="The question; - reads it from standard input.", show_default=False)],
    options: Options,
) -> None:
    """Answer a question. The answer goes to stdout sentence by sentence, everything else to stderr."""
    text = _from_stdin() if question == "-" else question
    if not text.strip():
        raise UsageError("The question is empty.", 'Ask something: flare-local ask "Who ...?"')
    task = task_of(options)
    say_what_is_embedded(task, options)
    if options.output.dry_run:
        _show_prompt(text, task, options)
    else:
        _answer(text, task, options)


class Stream:
    """An observer that prints an answer's text as it grows, without the blanks around it."""

    def __init__(self) -> None:
        self._text = ""
        self._shown = 0  # characters of the stripped text

    def __call__(self, event: Event) -> None:
        """Prints what a step added; blanks wait until something follows them."""
        if isinstance(event, Step):
            self._text += event.text
            ready = self._text.strip()
            print(safe_text(ready[self._shown :]), end="", flush=True)
            self._shown = len(ready)

    def end(self) -> None:
        """Ends the line, if one was begun."""
        if self._shown:
            print(flush=True)


def _answer(question: str, task: Task, options: Options) -> None:
    from flare_local.api import Ask

    with ExitStack() as opened:
        task, index, engine, question_engine = start(task, options, opened)

        def answer(observe: Observer | None) -> Answer:
            return Ask(task.method)(
                engine,
                index,
                question,
                exemplars=task.exemplars,
                rules=task.rules,
                chat=options.model.chat_template,
                question_engine=question_engine,
                observe=observe,
            )

        if options.output.json:
            print(answer_line(_with_options(answer(None), options, index), full=options.output.trace))
        elif options.output.trace:
            _trace(question, task, answer)
        else:
            _stream(answer)
            _say_if_unshown(task)


def _stream(answer: Callable[[Observer], Answer]) -> None:
    stream = Stream()
    try:
        done = answer(stream)
    finally:
        stream.end()
    _say_what_was_cut(done)
    _say_if_empty(done)


def _say_if_unshown(task: Task) -> None:
    """On a terminal: small models need to be shown what an answer looks like."""
    if not task.exemplars.count and err().is_terminal:
        err().print("(the model was shown no exemplars; --preset open has some for any question)")


def _say_if_empty(answer: Answer) -> None:
    """On a terminal an answer without a text would look as if nothing had happened."""
    if not answer.text and err().is_terminal:
        err().print("(empty answer)")


def _say_what_was_cut(answer: Answer) -> None:
    """One line on stderr where a prompt was too long for the model's context; a trace says it of each call."""
    cuts = {str(writing.cut) for writing in answer.writings if writing.cut is not None}
    if cuts:
        print(
            f"Left out, as the model's context is full: {'; '.join(sorted(cuts))} (docs/prompts.md).", file=sys.stderr
        )


def _trace(question: str, task: Task, answer: Callable[[Observer], Answer]) -> None:
    view = TraceView(err(), task.rules)
    view.begin(question)
    done = answer(view)
    err().print()
    print(safe_text(done.text), flush=True)
    _say_if_empty(done)
    view.finish(done)


def _with_options(answer: Answer, options: Options, index: "Index | None") -> Answer:
    """Adds what was asked of model and index; the rules that were followed are there already."""
    asked = {**asdict(options.model), **asdict(options.retrieval)}
    found = {} if index is None else {"index": str(index.path), "index_hash": index.manifest_hash}
    return replace(answer, config={**asked, **found, **answer.config})


def _show_prompt(question: str, task: Task, options: Options) -> None:
    """The policy itself runs, with a model that says nothing: what it sends first is the prompt."""
    model, asker = _silent(options.model), question_model(options)
    policy = task.method.answer if asker is None else task.method.asked_by(_silent(asker), task.rules)
    with ExitStack() as opened:
        index = open_index_of(task, options, opened)
        task = with_exemplar_documents(task, options, index)
        answer = asyncio.run(policy(model, index, question, task.exemplars, task.rules, None))
    first = answer.writings[0]
    print(safe_text(model.codec.decode(first.prompt)), flush=True)
    print(f"{len(first.prompt)} tokens; up to {first.max_new_tokens} new ones are asked for at first.", file=sys.stderr)
    _say_what_was_cut(answer)


def _silent(options: ModelOptions) -> SilentModel:
    """A model that says nothing, with the tokenizer, chat template and context of the one that `options` name."""
    codec = open_codec(options)
    frame = codec.chat_frame() if options.chat_template else None
    bos, tail = (codec.bos, ()) if frame is None else (frame.head, frame.tail)
    return SilentModel(codec, bos, tail, context_of(options, codec))


def _from_stdin() -> str:
    data = sys.stdin.buffer.read()
    try:
        return data.decode("utf-8").strip()
    except UnicodeDecodeError as error:
        raise UsageError(f"The question on standard input is not UTF-8 (byte {error.start}).", "Send UTF-8.") from None
