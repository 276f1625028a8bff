"""The invented town as passages, questions and exemplars, made of `names` without any chance: same code, same files.

`python -m flare_local.embedded.world` writes the JSONL files beside this module; a test says that they are up to date.
Every work has one maker, every maker one passage with year and town of birth, so that "In which year was the architect
of the Withy Bridge born?" needs two passages, and neither fact can be known to any model.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import TypeVar

from flare_local.embedded import names
from flare_local.embedded.questions import Question

FOLDER = Path(__file__).parent

T = TypeVar("T")


@dataclass(frozen=True)
class Passage:
    """Two sentences about one thing, as a corpus line."""

    id: str
    title: str
    text: str


@dataclass(frozen=True)
class Person:
    """Somebody with a passage of their own."""

    id: str
    name: str
    job: str
    year: int  # of birth
    town: str  # of birth

    @property
    def birth(self) -> str:
        """The sentence that the exemplars' answers copy whole: a small model copies better than it selects."""
        return f"{self.name} was born in {self.year} in {self.town}."

    @property
    def passage(self) -> Passage:
        article = "an" if self.job[0] in "aeiou" else "a"
        return Passage(self.id, self.name, f"{self.name} was {article} {self.job}. {self.birth}")


@dataclass(frozen=True)
class Work:
    """Something made by one person: a building, a ship, a book."""

    id: str
    title: str
    kind: str
    maker: Person
    verb: str  # what the maker did: "designed"
    the: str  # "the " where the title takes an article in a sentence
    where: str  # end of the first sentence

    @property
    def reference(self) -> str:
        """The work inside a sentence."""
        return self.the + self.title

    @property
    def passage(self) -> Passage:
        article = "an" if self.kind[0] in "aeiou" else "a"
        subject = self.reference[0].upper() + self.reference[1:]
        text = f"{subject} is {article} {self.kind} {self.where}. It was {self.verb} by {self.maker.name}."
        return Passage(self.id, self.title, text)


@dataclass(frozen=True)
class Exemplar:
    """One worked example about another place, with the documents that it rests on."""

    question: str
    answer: str
    documents: tuple[Passage, ...]


@dataclass(frozen=True)
class World:
    """All that is known of the town."""

    works: tuple[Work, ...]
    people: tuple[Person, ...]
    clubs: tuple[tuple[str, str, Work], ...]  # id, name, building it meets in
    fairs: tuple[tuple[str, str, int], ...]  # id, name, year
    streets: tuple[tuple[str, str, Work], ...]  # id, name, bridge it leads to
    towns: tuple[tuple[str, str, str], ...]  # id, name, what it is known for


# class of works: names, who makes one, what he or she does, article, end of the passage's first sentence
CLASSES = (
    ("building", names.BUILDINGS, "architect", "designed", "the ", f"in {names.TOWN}"),
    ("bridge", names.BRIDGES, "architect", "designed", "the ", f"in {names.TOWN}"),
    ("ship", names.SHIPS, "captain", "commanded", "the ", f"of {names.TOWN}"),
    ("book", names.BOOKS, "author", "written", "", f"about {names.TOWN}"),
    ("painting", names.PAINTINGS, "painter", "painted", "", f"kept in {names.TOWN}"),
    ("company", names.COMPANIES, "founder", "founded", "the ", f"in {names.TOWN}"),
    ("music", names.MUSIC, "composer", "composed", "", f"from {names.TOWN}"),
)
TRADES = {"founder": "merchant"}  # a founder is not called one in the passage of his or her own
TWICE = 6  # every sixth work of a class is by the maker of the one before


def stepped(items: Sequence[T], step: int) -> list[T]:
    """All items once, `step` places apart (prime to the number of items), so that neighbours do not look alike."""
    return [items[index * step % len(items)] for index in range(len(items))]


def make_world() -> World:
    """The same town every time."""
    surnames = stepped(list(product(names.SURNAME_HEADS, names.SURNAME_TAILS)), 83)
    # Nobody was born in the town itself: its name stands in nearly every passage, and would be a lucky guess.
    elsewhere = [name for name, _ in names.TOWNS if name != names.TOWN]
    people: list[Person] = []

    def person(job: str) -> Person:
        number = len(people)
        head, tail = surnames[number]
        name = f"{names.FIRST_NAMES[number * 11 % len(names.FIRST_NAMES)]} {head}{tail}"
        year, town = 1701 + number * 67 % 193, elsewhere[number * 5 % len(elsewhere)]
        people.append(Person(f"person-{number + 1:03d}", name, job, year, town))
        return people[-1]

    works: list[Work] = []
    for label, members, role, verb, the, where in CLASSES:
        for index, (title, kind) in enumerate(members):
            again = index % TWICE == TWICE - 1
            maker = works[-1].maker if again else person(TRADES.get(role, role))
            works.append(Work(f"{label}-{index + 1:02d}", title, kind, maker, verb, the, where))
    for job in names.OTHER_JOBS * 2:
        person(job)

    buildings = [work for work in works if work.id.startswith("building")]
    bridges = [work for work in works if work.id.startswith("bridge")]
    return World(
        works=tuple(works),
        people=tuple(people),
        clubs=tuple(
            (f"club-{i + 1:02d}", f"{names.TOWN} {name}", buildings[i * 5 % len(buildings)])
            for i, name in enumerate(names.CLUBS)
        ),
        fairs=tuple((f"fair-{i + 1:02d}", name, 1688 + i * 41 % 197) for i, name in enumerate(names.FAIRS)),
        streets=tuple(
            (f"street-{i + 1:02d}", name, bridges[i * 3 % len(bridges)]) for i, name in enumerate(names.STREETS)
        ),
        towns=tuple((f"town-{i + 1:02d}", name, pride) for i, (name, pride) in enumerate(names.TOWNS)),
    )


def make_passages(world: World) -> list[Passage]:
    """One passage a thing."""
    town = names.TOWN
    return [
        *(work.passage for work in world.works),
        *(person.passage for person in world.people),
        *(
            Passage(id, name, f"The {name} is a club in {town}. It meets in the {building.title}.")
            for id, name, building in world.clubs
        ),
        *(
            Passage(id, name, f"The {name} is a yearly feast in {town}. It was first held in {year}.")
            for id, name, year in world.fairs
        ),
        *(
            Passage(id, name, f"{name} is a street in {town}. It leads to the {bridge.title}.")
            for id, name, bridge in world.streets
        ),
        *(
            Passage(id, name, f"{name} is a town on the river Aske. It is known for {pride}.")
            for id, name, pride in world.towns
        ),
    ]


ROLE_OF = {label: role for label, _, role, *_ in CLASSES}
# How many of the 40 two-hop questions each class of works gives.
TWO_HOP = {"building": 8, "bridge": 5, "ship": 8, "book": 8, "painting": 4, "company": 5, "music": 2}


def make_questions(world: World) -> list[Question]:
    """40 two-hop questions of the exemplars' kind, year and town in turn, then 20 of other kinds."""
    questions: list[Question] = []

    def ask(group: str, kind: str, question: str, answer: str, *supporting_ids: str) -> None:
        number = f"q{len(questions) + 1:02d}"
        questions.append(Question(number, group, kind, question, answer, supporting_ids))

    for label, count in TWO_HOP.items():
        members = stepped([work for work in world.works if work.id.startswith(label)], 3 if label != "music" else 5)
        for work in members[:count]:
            year = len(questions) % 2 == 0
            role, maker = ROLE_OF[label], work.maker
            text = f"In which {'year' if year else 'town'} was the {role} of {work.reference} born?"
            ask("two-hop", role, text, str(maker.year) if year else maker.town, work.id, maker.id)

    for club_id, club, building in stepped(world.clubs, 3)[:5]:
        text = f"Who designed the building in which the {club} meets?"
        ask("other", "via a place", text, building.maker.name, club_id, building.id)
    for street_id, street, bridge in stepped(world.streets, 3)[:3]:
        ask("other", "via a place", f"Who designed the bridge to which {street} leads?", bridge.maker.name,
            street_id, bridge.id)  # fmt: skip
    pairs = zip(world.people[3:33:6], world.people[70:100:6], strict=True)
    for number, pair in enumerate(pairs):
        first, second = sorted(pair, key=lambda person: person.year)
        one, other = (first, second) if number % 2 else (second, first)
        ask("other", "comparison", f"Who was born first, {one.name} or {other.name}?", first.name, one.id, other.id)
    for fair_id, fair, fair_year in stepped(world.fairs, 3)[:3]:
        ask("other", "one hop", f"In which year was the {fair} first held?", str(fair_year), fair_id)
    books = [work for work in world.works if work.id.startswith("book")]
    for book in books[1::14]:
        ask("other", "one hop", f"Who wrote {book.title}?", book.maker.name, book.id)
    for somebody in world.people[-20::10]:
        ask("other", "one hop", f"In which town was {somebody.name} born?", somebody.town, somebody.id)
    return questions


def make_exemplars() -> list[Exemplar]:
    """Four two-hop examples about Dunhaven, an invented place that the corpus does not know."""

    def example(work: Work, role: str, year: bool) -> Exemplar:
        maker = work.maker
        answer = str(maker.year) if year else maker.town
        return Exemplar(
            f"In which {'year' if year else 'town'} was the {role} of {work.reference} born?",
            f"The {role} of {work.reference} was {maker.name}. {maker.birth} So the answer is {answer}.",
            (work.passage, maker.passage),
        )

    place = "Dunhaven"
    people = (
        Person("exemplar-1b", "Bruno Eckhart", "architect", 1746, "Saltrey"),
        Person("exemplar-2b", "Ada Pinnock", "captain", 1829, "Low Orrin"),
        Person("exemplar-3b", "Simon Vasey", "author", 1793, "Dunhaven"),
        Person("exemplar-4b", "Lena Okeford", "merchant", 1858, "Thrale"),
    )
    return [
        example(Work("exemplar-1a", "Thistle Gate", "town gate", people[0], "designed", "the ", f"in {place}"),
                "architect", year=True),
        example(Work("exemplar-2a", "Brave Linnet", "schooner", people[1], "commanded", "the ", f"of {place}"),
                "captain", year=False),
        example(Work("exemplar-3a", "The Hollow Drum", "novel", people[2], "written", "", f"about {place}"),
                "author", year=True),
        example(Work("exemplar-4a", "Crown Needle Works", "needle maker", people[3], "founded", "the ", f"in {place}"),
                "founder", year=False),
    ]  # fmt: skip


def as_jsonl(rows: Sequence[Passage | Question | Exemplar]) -> str:
    """One JSON object a line."""
    return "".join(json.dumps(asdict(row), ensure_ascii=False) + "\n" for row in rows)


def files() -> dict[str, str]:
    """Name and content of the files beside this module."""
    world = make_world()
    return {
        "passages.jsonl": as_jsonl(make_passages(world)),
        "questions.jsonl": as_jsonl(make_questions(world)),
        "exemplars.jsonl": as_jsonl(make_exemplars()),
    }


if __name__ == "__main__":
    for name, content in files().items():
        (FOLDER / name).write_text(content, encoding="utf-8")
        print(f"{name}: {content.count(chr(10))} lines")
