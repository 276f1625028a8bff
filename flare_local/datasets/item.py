"""One question of a dataset with all that its answer is judged by."""

from dataclasses import asdict, dataclass

from flare_local.runs.questions import Asked


@dataclass(frozen=True)
class Reading:
    """One reading of an ambiguous question (ASQA's `qa_pairs`)."""

    question: str
    answers: tuple[str, ...]  # short, any of them is right


@dataclass(frozen=True)
class Aspect:
    """One aspect of a summary (WikiAsp)."""

    name: str
    text: str


@dataclass(frozen=True)
class Item:
    """One question. What its task has no use for is empty."""

    id: str  # unique in its dataset
    question: str  # as it is asked, with its hint where the task has hints
    line: int  # where it stands in its file, from 1; in a file without lines the number of its row
    answers: tuple[str, ...] = ()  # the gold answer, then its aliases; "yes" or "no" for StrategyQA
    supporting_ids: tuple[str, ...] = ()  # documents that the answer is in, by id; no repeats
    supporting_titles: tuple[str, ...] = ()  # the same by title, for files that know no ids
    readings: tuple[Reading, ...] = ()
    long_answers: tuple[str, ...] = ()  # references of a long answer; any of them is right
    aspects: tuple[Aspect, ...] = ()
    hint: str = ""  # what is ambiguous about the question; part of `question`
    answer_id: str = ""  # Wikidata id of the answer, by which its aliases are found

    @property
    def asked(self) -> Asked:
        """The question as a run asks it."""
        return Asked(self.id, self.question, self.line)

    @property
    def summary(self) -> str:
        """The reference of a summary: a heading a line, then its text (released program)."""
        return "\n".join(f"# {aspect.name.capitalize()}\n{aspect.text}" for aspect in self.aspects)

    @property
    def references(self) -> tuple[str, ...]:
        """Whole texts that an answer is compared with."""
        return (self.summary,) if self.aspects else self.long_answers

    def as_dict(self) -> dict[str, object]:
        """For JSON; what is empty is left out."""
        return {name: value for name, value in asdict(self).items() if value not in ((), "")}
