"""The progress of an index build: a bar on a terminal, nothing in a pipe."""

from types import TracebackType
from typing import TYPE_CHECKING, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

if TYPE_CHECKING:
    from flare_local.retrieval.build import Stage


class BuildProgress:
    """Call it with each `Stage` of a build."""

    def __init__(self, console: Console) -> None:
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f}%"),
            TimeRemainingColumn(),
            console=console,
            disable=not console.is_terminal,
            transient=True,
        )
        self._task = self._bar.add_task("reading", total=None)

    def __call__(self, stage: "Stage") -> None:
        doing = "merging" if stage.finishing else "indexing"
        self._bar.update(
            self._task,
            description=f"{doing} {stage.documents:,} documents",
            completed=stage.bytes_read,
            total=stage.total_bytes,
        )

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._bar.stop()
