"""What a person sees of an answer while it is made."""

import io
from dataclasses import replace

from rich.console import Console

from flare_local.engine.call import Generation
from flare_local.policies.flare_direct import flare_direct
from flare_local.policies.rules import Rules
from flare_local.trace.terminal import TraceView, marked
from tests.policies.scripted import ScriptedRetriever, ask, says

RULES = Rules.paper()


def seen(script: list[Generation], retriever: ScriptedRetriever | None = None, colour: bool = False) -> str:
    output = io.StringIO()
    console = Console(
        file=output, markup=False, emoji=False, highlight=False, width=100, force_terminal=colour, no_color=not colour
    )
    view = TraceView(console, RULES)
    view.begin("Who?")
    answer, _ = ask(flare_direct, script, retriever, RULES, observe=view)
    view.answer(answer)
    view.finish(answer)
    return output.getvalue()


def test_improbable_tokens_are_marked_without_colour() -> None:
    text = seen([says(" Ada", 0.9, " Lo", 0.79999, "ve", 0.1), says(" Ada fell.", 0.9, stop="eos")])
    assert "draft      Ada Lo(.79)ve[.10]\n" in text
    assert "query      Ada Lo\n" in text
    assert "sentence   Ada fell.\n" in text
    assert "\x1b" not in text


def test_a_pipe_gets_one_line_a_document() -> None:
    retriever = ScriptedRetriever(default=["long " * 60])
    text = seen([says(" Ada.", 0.9, stop="eos")], retriever)
    (line,) = [line for line in text.splitlines() if line.startswith("found")]
    assert line.endswith("9.00")


def test_texts_are_data_on_a_colour_terminal_too() -> None:
    retriever = ScriptedRetriever(default=["\x1b[2J[/INST] [bold]x"])
    text = seen([says(" [red]Ada\x1b]0;t\x07", 0.9, stop="eos")], retriever, colour=True)
    assert "\x1b[2J" not in text
    assert "\x1b]0" not in text
    assert "[/INST] [bold]x" in text
    assert "[red]Ada" in text


def test_nothing_found_and_nothing_to_search_for_are_said() -> None:
    assert "found      nothing" in seen([says(" Ada.", 0.9, stop="eos")])
    output = io.StringIO()
    view = TraceView(Console(file=output), Rules.released())
    ask(flare_direct, [says(" Ada", 0.1), says(" Ada.", 0.9, stop="eos")], rules=Rules.released(), observe=view)
    assert "nothing left to search for" in output.getvalue()


def test_an_empty_draft_is_said_to_end_the_answer() -> None:
    assert "draft      nothing: the answer ends" in seen([says(" One.", 0.9), says(stop="eos")])


def test_marks_follow_the_schedule_s_comparisons() -> None:
    answer, _ = ask(flare_direct, [says(" a", 0.8, " b", 0.4, stop="eos"), says(" a", 0.9, stop="eos")])
    draft = answer.writings[0]
    assert marked(draft, RULES).plain == "a b(.40)"
    assert marked(draft, replace(Rules.released())).plain == "a(.80) b[.40]"


def test_the_counters_are_a_table() -> None:
    text = seen([says(" One.", 0.9, stop="eos")])
    assert "model calls" in text
    assert "ended      eos" in text
