"""The table of commands, and the way from a command line to the module of its command, imported only then."""

from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module

from flare_local import __version__
from flare_local.errors import UsageError


@dataclass(frozen=True)
class Command:
    """Where a command lives: `home` is "module:name" of a function or of a typer app."""

    home: str
    help: str


COMMANDS = {
    "demo": Command("flare_local.cli.demo:demo", "Questions about an invented town, answered by FLARE step by step."),
    "ask": Command("flare_local.cli.ask:ask", "Answer a question."),
    "batch": Command("flare_local.cli.batch:batch", "Answer many questions at once, into a folder."),
    "eval": Command("flare_local.cli.eval:eval_", "Answer a task's questions with several methods; judge and compare."),
    "report": Command("flare_local.cli.report:report", "A page about runs: scores, plots, every answer."),
    "reproduce": Command("flare_local.cli.reproduce:reproduce", "The paper's tables and figures on a local model."),
    "data": Command("flare_local.cli.data:app", "Look at a dataset; write hints for ambiguous questions."),
    "warm": Command("flare_local.cli.warm:warm", "Compute what all prompts begin with once, for --warm."),
    "profile": Command("flare_local.cli.profile:profile", "Where the time of a run went; a page of its answers."),
    "index": Command("flare_local.cli.index:app", "Build, search and check indexes."),
    "methods": Command("flare_local.cli.methods:methods", "The methods, one line each."),
    "presets": Command("flare_local.cli.presets:app", "The paper's tasks: settings and exemplars."),
    "config": Command("flare_local.cli.config:app", "Show the options in force and where each came from."),
    "doctor": Command("flare_local.cli.doctor:doctor", "Check this machine: versions, Java, memory, engine, index."),
    "version": Command("flare_local.cli.commands:version", "Print the version."),
}

_WELCOME = """\
flare-local answers questions with a local language model and a local search index (FLARE, arXiv 2305.06983):
it drafts the next sentence, and where the model is unsure of a word it searches and writes the sentence again.

First steps:
  flare-local demo                                      three questions on embedded model and index, step by step
  flare-local ask "Who built the Harbour Bridge?"       the embedded model and index, your question
  flare-local index build CORPUS --out my-index         an index of your own texts
  flare-local ask QUESTION --model MODEL --index my-index --trace
  flare-local doctor                                    what this machine has, and what is missing

Commands:
"""

_FOOT = """
Results go to stdout, everything else to stderr. `flare-local COMMAND --help` shows the options of a command;
--debug with any command shows the traceback of an error; --version prints the version.
"""


def dispatch(words: list[str]) -> None:
    """Runs the command that `words` ask for. Raises what the command raises, `UsageError` for an unknown one."""
    for position, word in enumerate(words, 1):
        if any("\ud800" <= character <= "\udfff" for character in word):
            raise UsageError(f"Argument {position} of the command line is not valid UTF-8: {word!r}.")
    if not words or words[0] in ("--help", "-h", "help"):
        print(welcome())
    elif words[0] == "--version":
        version()
    elif words[0] in COMMANDS:
        from flare_local.cli.launch import launch

        launch(words[0], load(words[0]), words[1:])
    else:
        close = get_close_matches(words[0], COMMANDS, n=1)
        remedy = f"Did you mean `flare-local {close[0]}`?" if close else "`flare-local --help` lists the commands."
        raise UsageError(f"There is no command {words[0]!r}.", remedy)


def welcome() -> str:
    """What a bare `flare-local` says."""
    lines = [f"  {name:<10}{command.help}" for name, command in COMMANDS.items()]
    return (_WELCOME + "\n".join(lines) + "\n" + _FOOT).rstrip()


def version() -> None:
    """Print the version."""
    print(f"flare-local {__version__}")


def load(name: str) -> object:
    """The function or typer app of a command."""
    module, attribute = COMMANDS[name].home.split(":")
    loaded: object = getattr(import_module(module), attribute)
    return loaded
