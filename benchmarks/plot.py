"""Plots as PNG files, where matplotlib (the optional extra `plots`) is there; else a line that says so."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.table import Point

ABSENT = "No plot: matplotlib is not installed (`pip install 'flare-local[plots]'`)."
WIDTH, HEIGHT = 5.5, 4.0  # inches of a panel
NOTE = 110  # characters in a line below the panels


@dataclass(frozen=True)
class Curves:
    """A panel of measured points, joined, one curve a name."""

    title: str
    x: str
    y: str
    curves: Mapping[str, Sequence[Point]]
    doubling: bool = False  # sizes double from one point to the next: a logarithmic axis
    level: float | None = None  # a dashed line at this height

    def draw(self, axes: Any) -> None:
        for name, points in self.curves.items():
            axes.plot([x for x, _ in points], [y for _, y in points], marker="o", markersize=4, label=name)
        if self.doubling:
            axes.set_xscale("log", base=2)
            sizes = sorted({x for points in self.curves.values() for x, _ in points})
            axes.set_xticks(sizes, [f"{size:g}" for size in sizes])
        else:
            axes.set_xlim(left=0)
        axes.set_ylim(bottom=0)
        _finish(self, axes, len(self.curves) > 1)


@dataclass(frozen=True)
class Bars:
    """A panel of horizontal bars, each made of named parts."""

    title: str
    x: str
    bars: Mapping[str, Mapping[str, float]]  # name of a bar -> part -> length
    level: float | None = None  # a dashed line at this length
    y: str = field(default="", init=False)

    def draw(self, axes: Any) -> None:
        names = list(self.bars)
        begin = dict.fromkeys(names, 0.0)
        parts = list(dict.fromkeys(part for bar in self.bars.values() for part in bar))
        for part in parts:
            lengths = [self.bars[name].get(part, 0.0) for name in names]
            axes.barh(names, lengths, left=[begin[name] for name in names], label=part)
            begin = {name: begin[name] + length for name, length in zip(names, lengths, strict=True)}
        axes.invert_yaxis()
        _finish(self, axes, len(parts) > 1)


Panel = Curves | Bars


def draw(path: Path, note: str, *panels: Panel) -> None:
    """Draws the panels side by side, `note` below them, and says where the file is. Without matplotlib: says that."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        print(ABSENT, flush=True)
        return
    columns = min(2, len(panels))
    rows = -(-len(panels) // columns)
    figure = Figure(figsize=(WIDTH * columns, HEIGHT * rows + 0.5), layout="constrained")
    FigureCanvasAgg(figure)
    for number, panel in enumerate(panels, 1):
        panel.draw(figure.add_subplot(rows, columns, number))
    figure.supxlabel(note if len(note) <= NOTE or columns > 1 else note.replace("; ", ";\n"), fontsize=7)
    figure.savefig(path, dpi=120)
    print(path, flush=True)


def _finish(panel: Panel, axes: Any, legend: bool) -> None:
    if panel.level is not None:
        along = axes.axvline if isinstance(panel, Bars) else axes.axhline
        along(panel.level, color="black", linestyle="--", linewidth=0.8)
    axes.set_title(panel.title, fontsize=10)
    axes.set_xlabel(panel.x, fontsize=8)
    axes.set_ylabel(panel.y, fontsize=8)
    axes.tick_params(labelsize=8)
    if legend:
        axes.legend(fontsize=7)
