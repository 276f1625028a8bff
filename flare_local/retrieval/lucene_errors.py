"""Java's exceptions in the user's words. No Java exception leaves this package raw."""

from pathlib import Path

from flare_local.errors import DiskFull, FlareError, IndexFault, JavaError, UsageError

REBUILD = "Build it again: flare-local index build CORPUS --out DIR --force"
_NEWER = ("indexCreatedVersionMajor is in the future", "An SPI class of type", "IndexFormatTooNew")
_TRUNCATED = ("CorruptIndexException", "EOFException", "NoSuchFileException", "FileNotFoundException", "InternalError")


def explain(error: Exception, path: Path, doing: str) -> FlareError:
    """The error of ours for a `jnius.JavaException` raised while `doing` ("open", "search", "build") to `path`."""
    name = str(getattr(error, "classname", None) or type(error).__name__)
    message = " ".join(str(getattr(error, "innermessage", None) or error).split())
    told = f"{name} {error}"  # with the causes
    if "OutOfMemoryError" in told:
        return JavaError(
            f"Java ran out of memory while trying to {doing} {path}.",
            "Give it more: FLARE_JAVA_MEMORY=4g, or --memory.",
        )
    if "No space left on device" in told:
        return DiskFull(f"The disk of {path} is full.", "Free some space or choose another folder.")
    if "TooManyClauses" in told:
        return UsageError("The query has too many different words.", "Shorten it.")
    if "AccessDeniedException" in told or "Permission denied" in told:
        return IndexFault(f"The index {path} cannot be read: permission denied.", "Change its permissions.")
    if any(sign in told for sign in _NEWER):
        return IndexFault(
            f"The index {path} was built by a newer Lucene than the one installed.",
            "Build it with Pyserini 1.x or with `flare-local index build`.",
        )
    if "IndexFormatTooOld" in told:
        return IndexFault(f"The index {path} is corrupt or was built by a Lucene too old to be read.", REBUILD)
    if "IndexNotFoundException" in told:
        return IndexFault(f"{path} holds no complete Lucene index.", REBUILD)
    if "AlreadyClosedException" in told:
        return IndexFault(f"The index {path} was closed.", "Open it again.")
    if any(sign in told for sign in _TRUNCATED):
        return IndexFault(f"The index {path} is corrupt: a file is missing, truncated or damaged.", REBUILD)
    return IndexFault(f"Lucene could not {doing} {path}: {name.rpartition('.')[2]}: {message[:300]}.")
