"""A table of the paper with this program's figures beside the paper's: Markdown and CSV."""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from flare_local.evaluation.judged import Judged, JudgedRow
from flare_local.evaluation.paper import Block, PaperTable
from flare_local.evaluation.row import Row
from flare_local.evaluation.text import difference_text, figure
from flare_local.metrics.measures import COST, OF_TASK, RETRIEVAL, Measure, measures_of
from flare_local.metrics.scores import Column

CSV_HEAD = (
    "table",
    "row",
    "settings",
    "task",
    "measure",
    "questions",
    "value",
    "low",
    "high",
    "paper",
    "difference_from_reference",
    "why",
)


@dataclass(frozen=True)
class Part:
    """A block of a table with what is there of it."""

    block: Block
    title: str  # of the task
    judged: Judged | None  # None: there is no data, and `why` says so
    why: str = ""
    questions: str = ""  # which, in words

    def row(self, place: int) -> JudgedRow | None:
        """What row number `place` of the table came to."""
        return None if self.judged is None else self.judged.rows[place]

    def measure(self, name: str) -> Measure:
        """A measure of this task by its name."""
        return next(measure for measure in measures_of(self.block.task) if measure.name == name)

    def column(self, place: int, name: str) -> Column:
        """A cell."""
        row = self.row(place)
        return Column(self.measure(name), 0, None, why=self.why) if row is None else row.columns[name]


@dataclass(frozen=True)
class Reproduced:
    """A table, its parts, and with what it was made."""

    table: PaperTable
    parts: tuple[Part, ...]
    facts: Mapping[str, str]  # model, index, versions: name -> value

    def markdown(self) -> str:
        """The page of this table."""
        lines = [f"# {self.table.name}: {self.table.title}", ""]
        lines += ["Ours with 95 % intervals; the paper's figures are those of its own model and questions.", ""]
        lines += [f"* {name}: {value}" for name, value in self.facts.items()]
        for part in self.parts:
            lines += ["", f"## {part.title}", "", *self._part(part)]
        lines += ["", *self.table.notes] if self.table.notes else []
        return "\n".join(lines) + "\n"

    def csv(self) -> str:
        """A line a cell."""
        file = io.StringIO()
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(CSV_HEAD)
        writer.writerows(self._cells())
        return file.getvalue()

    def _part(self, part: Part) -> list[str]:
        lines = [f"Not measured: {part.why}" if part.judged is None else f"{part.questions}.", ""]
        names = part.block.measures
        titles = [part.measure(name).title for name in names]
        head = ["", *(text for title in titles for text in (title, "paper"))]
        rows = []
        for place, row in enumerate(self.table.rows):
            paper = self.table.numbers(part.block, row)
            cells = [(figure(part.column(place, name)), _number(paper[name])) for name in names]
            rows.append([row.title, *(text for pair in cells for text in pair)])
        lines += _grid(head, rows)
        if part.judged is not None:
            lines += ["", *_reasons(part, names), *_costs(part.judged), "", *_apart(part.judged)]
        return lines

    def _cells(self) -> Iterator[Sequence[object]]:
        for part in self.parts:
            names = dict.fromkeys(
                (*part.block.measures, *(m.name for m in OF_TASK[part.block.task]), *(m.name for m in COST))
            )
            for place, row in enumerate(self.table.rows):
                paper = self.table.numbers(part.block, row)
                for name in names:
                    yield self._cell(part, place, row, name, paper.get(name))

    def _cell(self, part: Part, place: int, row: Row, name: str, paper: float | None) -> Sequence[object]:
        column = part.column(place, name)
        times = 100 if column.measure.percent else 1
        values = [column.value, *_ends(column)]
        judged = part.row(place)
        apart = None
        if part.judged is not None and judged is not None:
            found = part.judged.differences.get(judged.row.name, {}).get(name)
            apart = None if found is None else -found.difference * times
        return (
            self.table.name,
            row.title,
            " ".join(f"{key}={value}" for key, value in row.settings.items()),
            part.block.task,
            name,
            column.questions,
            *(None if value is None else value * times for value in values),
            paper,
            apart,
            column.why,
        )


def _ends(column: Column) -> tuple[float | None, float | None]:
    return (None, None) if column.interval is None else (column.interval.low, column.interval.high)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"


def _grid(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [head, ["---"] * len(head), *rows]
    return ["| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines]


def _reasons(part: Part, names: Sequence[str]) -> list[str]:
    """Why columns are empty."""
    assert part.judged is not None
    lines = []
    for name in names:
        reasons = dict.fromkeys(row.columns[name].why for row in part.judged.rows if row.columns[name].why)
        if reasons:
            lines += [f"{part.measure(name).title}: {' '.join(reasons)}", ""]
    return lines


def _costs(judged: Judged) -> list[str]:
    """What the answers took, and how good the searches were."""
    task = judged.plan.dataset.task
    measures = [m for m in (*OF_TASK[task], *RETRIEVAL, *COST) if m.name == "wrong_format" or m in RETRIEVAL + COST]
    shown = [m for m in measures if any(row.columns[m.name].value is not None for row in judged.rows)]
    rows = [
        [each.row.title, f"{len(each.predictions)}", *(figure(each.columns[m.name], plain=True) for m in shown)]
        for each in judged.rows
    ]
    return _grid(["", "answered", *(m.title for m in shown)], rows)


def _apart(judged: Judged) -> list[str]:
    """The reference against every other row, on the same questions."""
    task = judged.plan.dataset.task
    measures = [m for m in OF_TASK[task] if judged.reference.columns[m.name].value is not None]
    if not measures or not judged.differences:
        return []
    first = measures[0]
    rows = [
        [each.row.title, difference_text(found, first.percent)]
        for each in judged.rows
        if (found := judged.differences.get(each.row.name, {}).get(first.name)) is not None
    ]
    return _grid([f"{first.title} of {judged.reference.row.title} minus that of", ""], rows)
