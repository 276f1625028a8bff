"""What a user sees go wrong: one line that names the thing, the place and the remedy.

Every error that a user can cause is a `FlareError`. The command line prints `str(error)` on stderr and leaves with
`error.exit_code`; a traceback appears only with `--debug`.
"""


class FlareError(Exception):
    """Base of all errors with a text for the user. `what` names the thing and the place, `remedy` says what to do."""

    exit_code = 1

    def __init__(self, what: str, remedy: str = "") -> None:
        if remedy and not what.endswith((".", "!", "?")):  # what a library said may end anywhere
            what += "."
        super().__init__(f"{what} {remedy}".strip())
        self.what = what
        self.remedy = remedy


class UsageError(FlareError):
    """An option or argument is wrong: unknown method, theta outside [0, 1], a file that is not there."""

    exit_code = 2


class ConfigError(UsageError):
    """A configuration file or environment variable is wrong: unknown key, wrong type, broken TOML."""


class ModelError(FlareError):
    """A model cannot be found, read or trusted."""


class ModelRefused(ModelError):
    """A model was read, but the engine cannot run it exactly; the text says why."""


class PromptTooLong(FlareError):
    """Prompt and answer do not fit the model's context."""


class PoolTooSmall(FlareError):
    """The KV pool cannot hold one sequence; the text gives the number of slots needed."""


class SnapshotFault(FlareError):
    """A snapshot of warm prefixes is absent or broken, or belongs to another model or other settings."""


class OutOfMemory(FlareError):
    """Model, pool and one prompt do not fit in the memory that is free."""


class CorpusError(FlareError):
    """A corpus is missing, empty or broken; the text gives file and line."""


class IndexFault(FlareError):
    """An index is absent, half built, corrupt, or of a version that cannot be read."""


class JavaError(FlareError):
    """No usable Java, or the Java virtual machine did not start."""


class DiskFull(FlareError):
    """A disk is full or read-only; what was complete stays."""


class RunFault(FlareError):
    """A run folder belongs to other questions or settings, is in use, or is broken."""


class ServerFault(FlareError):
    """A server elsewhere (of a model, a corpus, the web) cannot be reached, refuses, or says what cannot be true."""
