"""One row of a table of results: a method, and what is set apart from its task."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Row:
    """One way to answer that is compared with others."""

    method: str  # name in METHODS
    title: str  # as people read it
    settings: Mapping[str, object] = field(default_factory=dict)  # option -> value, where it is not the task's

    @property
    def name(self) -> str:
        """Of its folder: the same settings have the same name."""
        return ".".join([self.method, *(f"{key}-{_word(value)}" for key, value in sorted(self.settings.items()))])

    def beside(self, preset: Mapping[str, object]) -> "Row":
        """The same row without what a task sets so anyway, so that tables which share a row share its answers."""
        kept = {key: value for key, value in self.settings.items() if preset.get(key, _NOTHING) != value}
        return Row(self.method, self.title, kept)

    def as_dict(self) -> dict[str, object]:
        """For JSON."""
        return {"name": self.name, "title": self.title, "method": self.method, "settings": dict(self.settings)}


_NOTHING = object()


def _word(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value).replace("/", "-")
