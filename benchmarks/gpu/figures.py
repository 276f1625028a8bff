"""Where figures go: one JSON line each, on the disk the moment it is taken, and all of them in one file at the end."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Figures:
    """The figures of one check. Whatever fails or no longer fits the time is a figure too."""

    folder: Path
    limit: float  # seconds for the whole check
    taken: list[dict[str, object]] = field(default_factory=list)
    _begun: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "figures.jsonl").write_text("")

    @property
    def spent(self) -> float:
        """Seconds since the beginning."""
        return time.monotonic() - self._begun

    def take(self, what: str, **values: object) -> None:
        """Writes one figure."""
        figure = {"what": what, **values, "at_s": round(self.spent, 1)}
        self.taken.append(figure)
        line = json.dumps(figure)
        with (self.folder / "figures.jsonl").open("a") as file:
            file.write(line + "\n")
        print(line, flush=True)

    def section(self, name: str, run: Callable[[], None], needs: float = 0.0) -> None:
        """Runs a part of the check, unless less than `needs` seconds are left; a failure ends this part alone."""
        if self.spent + needs > self.limit:
            self.take("not run", section=name, reason=f"{self.limit - self.spent:.0f} s left, {needs:.0f} s needed")
            return
        try:
            run()
        except Exception as error:  # whatever it is, the other parts still tell something
            self.take("failed", section=name, reason=f"{type(error).__name__}: {' '.join(str(error).split())[:400]}")

    def finish(self) -> bool:
        """Writes the one file and says whether everything that ran was right."""
        wrong = [f for f in self.taken if f["what"] == "failed" or f.get("right") is False]
        absent = [f for f in self.taken if f["what"] == "not run"]
        summary = {"right": not wrong, "wrong": wrong, "not_run": absent, "figures": self.taken}
        (self.folder / "gpu_check.json").write_text(json.dumps(summary, indent=1) + "\n")
        print(f"{len(self.taken)} figures in {self.spent:.0f} s, {len(wrong)} wrong, {len(absent)} parts not run.")
        return not wrong
