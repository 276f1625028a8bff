"""The fields of one row of a dataset, each checked when it is read; errors name the place."""

from collections.abc import Iterable, Mapping

from flare_local.errors import UsageError
from flare_local.tasks.exemplars import has_half_a_pair


class Fields:
    """One JSON object of a file. Every reading raises `UsageError` where the value is not what it should be."""

    def __init__(self, value: object, place: str) -> None:
        """`place`: file and line, as they stand in front of every error."""
        if not isinstance(value, Mapping):
            raise UsageError(f"{place}: not a JSON object.")
        self.value: Mapping[str, object] = value
        self.place = place

    def __contains__(self, name: str) -> bool:
        return self.value.get(name) is not None

    def fault(self, what: str, remedy: str = "") -> UsageError:
        """An error of this row, to be raised."""
        return UsageError(f"{self.place}: {what}", remedy)

    def text(self, name: str) -> str:
        """A text that is not blank, without blanks around it."""
        value = self._present(name)
        if not isinstance(value, str):
            raise self.fault(f"{name} is not a text.")
        return self._clean(value, name)

    def text_or(self, name: str, other: str = "") -> str:
        """As `text`; `other` where there is none."""
        value = self.value.get(name)
        return other if value is None or value == "" else self.text(name)

    def id(self, name: str) -> str:
        """A text or a whole number, as text."""
        value = self._present(name)
        if isinstance(value, bool) or not isinstance(value, str | int):
            raise self.fault(f"{name} is neither a text nor a whole number.")
        return self._clean(str(value), name)

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts, none of them blank; a single text is a list of one."""
        value = self._present(name)
        listed = [value] if isinstance(value, str) else value
        if not isinstance(listed, list):
            raise self.fault(f"{name} is not a list of texts.")
        for text in listed:
            if not isinstance(text, str):
                raise self.fault(f"{name} holds something that is not a text.")
        return tuple(self._clean(text, name) for text in listed)

    def texts_or_none(self, name: str) -> tuple[str, ...]:
        """As `texts`, without repeats; empty where there are none."""
        return unique(self.texts(name)) if name in self else ()

    def values(self, name: str) -> list[object]:
        """A list of anything."""
        value = self._present(name)
        if not isinstance(value, list):
            raise self.fault(f"{name} is not a list.")
        return value

    def objects(self, name: str) -> "list[Fields]":
        """A list of objects."""
        return [Fields(value, f"{self.place}: {name} {at}") for at, value in enumerate(self.values(name), 1)]

    def pairs(self, name: str) -> list[tuple[str, object]]:
        """A list of lists of two, the first of them a text."""
        found = []
        for value in self.values(name):
            if not isinstance(value, list) or len(value) != 2 or not isinstance(value[0], str):
                raise self.fault(f"{name} does not hold lists of two, a text first.")
            found.append((self._clean(value[0], name), value[1]))
        return found

    def _present(self, name: str) -> object:
        value = self.value.get(name)
        if value is None:
            raise self.fault(f"{name} is {'null' if name in self.value else 'missing'}.")
        return value

    def _clean(self, text: str, name: str) -> str:
        if not text.strip():
            raise self.fault(f"{name} is empty.")
        if has_half_a_pair(text):
            raise self.fault(f"{name} holds half of a surrogate pair, which is no text.")
        return text.strip()


def unique(texts: Iterable[str]) -> tuple[str, ...]:
    """`texts` without repeats, in their order."""
    return tuple(dict.fromkeys(texts))
