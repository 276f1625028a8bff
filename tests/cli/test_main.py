"""What the command line says and how it ends, whatever the command."""

import errno
import os
import subprocess
import sys

import pytest

from flare_local import __version__
from flare_local.cli import commands, interrupt
from flare_local.errors import DiskFull, FlareError, UsageError
from tests.cli.shell import Shell, is_one_clear_line, process


def fails_with(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def command() -> None:
        raise error

    monkeypatch.setattr(commands, "load", lambda name: command)


def test_a_bare_command_teaches(shell: Shell) -> None:
    said = shell()
    assert said.code == 0
    assert not said.err
    for name in commands.COMMANDS:
        assert f"  {name} " in said.out
    assert "flare-local ask" in said.out
    assert shell("--help").out == said.out == shell("-h").out


def test_the_version_is_printed(shell: Shell) -> None:
    assert shell("version").out == shell("--version").out == f"flare-local {__version__}\n"


def test_an_unknown_command_is_refused_with_a_suggestion(shell: Shell) -> None:
    said = shell("aks", "why?")
    assert is_one_clear_line(said, code=2)
    assert "flare-local ask" in said.err


def test_a_wrong_option_is_refused_with_the_way_to_help(shell: Shell) -> None:
    said = shell("config", "show", "--thet", "1")
    assert is_one_clear_line(said, code=2)
    assert "--theta" in said.err
    assert "flare-local config show --help" in said.err


def test_a_missing_argument_is_named(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    def ask(question: str) -> None: ...

    monkeypatch.setattr(commands, "load", lambda name: ask)
    said = shell("ask")
    assert is_one_clear_line(said, code=2)
    assert "question" in said.err.lower()


@pytest.mark.parametrize("name", [name for name in commands.COMMANDS])
def test_every_command_has_help(shell: Shell, name: str) -> None:
    said = shell(name, "--help")
    assert said.code == 0
    assert f"Usage: flare-local {name}" in said.out
    assert not said.err


def test_a_bare_group_shows_its_commands(shell: Shell) -> None:
    said = shell("config")
    assert said.code == 0
    assert "show" in said.out


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (UsageError("--theta is 7; allowed is a number from 0 to 1."), 2, "--theta"),
        (DiskFull("The disk of /x is full.", "Free some space."), 1, "Free some space."),
        (OSError(errno.ENOSPC, "No space left on device", "/x/y"), 1, "disk is full"),
        (OSError(errno.EROFS, "Read-only file system", "/x/y"), 1, "read-only"),
        (PermissionError(errno.EACCES, "Permission denied", "/x/y"), 1, "/x/y"),
        (MemoryError(), 1, "--kv-memory"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes"), 1, "--kv-memory"),
        (FlareError("two\nlines\x1b[31m"), 1, "two lines\\x1b[31m"),
    ],
)
def test_a_foreseen_error_is_one_line(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int, words: str
) -> None:
    fails_with(monkeypatch, error)
    said = shell("version")
    assert is_one_clear_line(said, code=code)
    assert words in said.err


def test_an_unforeseen_error_is_told_as_a_bug(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    fails_with(monkeypatch, KeyError("lost"))
    said = shell("version")
    assert said.code == 70
    assert said.err.count("\n") == 1
    assert "bug" in said.err
    assert "--debug" in said.err


@pytest.mark.parametrize("words", [("--debug", "version"), ("version", "--debug")])
def test_debug_shows_the_traceback(shell: Shell, monkeypatch: pytest.MonkeyPatch, words: tuple[str, str]) -> None:
    fails_with(monkeypatch, UsageError("wrong"))
    said = shell(*words)
    assert said.code == 2
    assert "Traceback" in said.err
    assert said.err.endswith("error: wrong\n")


def test_debug_after_a_double_dash_is_an_argument(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    def ask(question: str) -> None:
        print(question)

    monkeypatch.setattr(commands, "load", lambda name: ask)
    assert shell("ask", "--", "--debug").out == "--debug\n"


def test_an_interrupt_ends_with_130(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    fails_with(monkeypatch, KeyboardInterrupt())
    said = shell("version")
    assert (said.code, said.err) == (130, "interrupted\n")


def test_whatever_an_interrupt_became_it_is_told_as_an_interrupt(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interrupt, "received", lambda: 15)
    fails_with(monkeypatch, ImportError("numpy could not be imported"))
    said = shell("version")
    assert (said.code, said.err) == (143, "interrupted\n")


def test_words_that_are_not_utf8_are_refused(shell: Shell) -> None:
    assert is_one_clear_line(shell("ask", os.fsdecode(b"caf\xe9")), code=2)


def test_a_closed_pipe_is_quiet() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([sys.executable, "-m", "flare_local"], stdout=writer, stderr=subprocess.PIPE, text=True)
    os.close(writer)
    assert not done.stderr
    assert done.returncode == 141


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full on this system")
def test_a_full_disk_under_stdout_is_an_error() -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run([sys.executable, "-m", "flare_local"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "disk is full" in done.stderr


def test_a_terminal_without_unicode_gets_its_answer() -> None:
    said = process("config", "show", "--instruction", "caf\u00e9 \u2192", PYTHONIOENCODING="ascii")
    assert said.code == 0
    assert "caf\\xe9 \\u2192" in said.out
