"""All embedded questions by several methods, one answer a line in a file that an interrupted run goes on with."""

import asyncio
import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, fields, replace
from math import sqrt
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING

from flare_local.embedded.questions import Question, final_answer, is_right
from flare_local.policies.methods import METHODS
from flare_local.policies.rules import Rules
from flare_local.retrieval.document import Document, Retriever
from flare_local.spans import question_span
from flare_local.tasks.exemplars import Exemplars

if TYPE_CHECKING:
    from flare_local.engine.engine import Engine

Z = 1.959964  # of a two-sided interval of 95 %


@dataclass(frozen=True)
class Arm:
    """One way to answer that is compared with the others."""

    name: str
    method: str
    top_k: int
    gold: bool = False  # the question's search finds just the passages that it rests on

    def rules(self, rules: Rules) -> Rules:
        return replace(rules, top_k=self.top_k)


ARMS = (
    Arm("no retrieval", "no_retrieval", 1),
    Arm("single-time, top 1", "single_time", 1),
    Arm("single-time, top 3", "single_time", 3),
    Arm("FLARE direct, top 1", "flare_direct", 1),
    Arm("gold passages", "single_time", 2, gold=True),
)


@dataclass(frozen=True)
class Outcome:
    """One question answered by one arm."""

    arm: str
    question: str  # its id
    group: str
    text: str
    final: str
    right: bool
    seconds: float
    run: int  # tokens
    reused: int  # tokens


class GoldPassages:
    """A retriever that knows the questions: it finds the passages that each rests on, in the order of need."""

    def __init__(self, questions: Iterable[Question], passages: Path) -> None:
        rows = [json.loads(line) for line in passages.read_text(encoding="utf-8").splitlines()]
        self._passages = {row["id"]: row for row in rows}
        self._needed = {question.question: question.supporting_ids for question in questions}

    async def search(self, queries: Sequence[str], k: int) -> list[list[Document]]:
        """The passages of each question, however many they are."""
        return [[self._document(id, rank) for rank, id in enumerate(self._needed[query], 1)] for query in queries]

    def _document(self, id: str, rank: int) -> Document:
        row = self._passages[id]
        return Document(id, row["title"], row["text"], score=1.0, rank=rank)


def measure(
    open_engine: "Callable[[], AbstractContextManager[Engine]]",
    index: Retriever,
    gold: Retriever,
    questions: Sequence[Question],
    exemplars: Exemplars,
    rules: Rules,
    file: Path,
    tell: Callable[[Outcome], None],
) -> list[Outcome]:
    """Answers every question by every arm, arm by arm, and writes each outcome to `file` as it is known.

    Each arm has an engine of its own, so that none profits from what another has computed. Outcomes that `file` holds
    already are not computed again.
    """
    outcomes = {(outcome.arm, outcome.question): outcome for outcome in read_outcomes(file)}
    file.parent.mkdir(parents=True, exist_ok=True)
    for arm in ARMS:
        open_questions = [question for question in questions if (arm.name, question.id) not in outcomes]
        if not open_questions:
            continue
        retriever = gold if arm.gold else index
        with open_engine() as engine, file.open("a", encoding="utf-8") as out:
            for question in open_questions:
                outcome = _outcome(engine, retriever, arm, question, exemplars, rules)
                out.write(json.dumps(asdict(outcome)) + "\n")
                out.flush()
                outcomes[arm.name, question.id] = outcome
                tell(outcome)
    return [outcomes[arm.name, question.id] for question in questions for arm in ARMS]


def _outcome(
    engine: "Engine", retriever: Retriever, arm: Arm, question: Question, exemplars: Exemplars, rules: Rules
) -> Outcome:
    began = time.perf_counter()
    policy, lm = METHODS[arm.method].answer, engine.question(question.id)
    with question_span(f"{arm.name}: {question.question}"):
        answer = asyncio.run(policy(lm, retriever, question.question, exemplars, arm.rules(rules), None))
    return Outcome(
        arm=arm.name,
        question=question.id,
        group=question.group,
        text=answer.text,
        final=final_answer(answer.text),
        right=is_right(answer.text, question),
        seconds=time.perf_counter() - began,
        run=answer.counters.run,
        reused=answer.counters.reused,
    )


def read_outcomes(file: Path) -> Iterator[Outcome]:
    """What an earlier run wrote; a last line that was cut off is taken out of the file."""
    if not file.exists():
        return
    written = file.read_bytes()
    whole = written[: written.rfind(b"\n") + 1]
    if whole != written:
        file.write_bytes(whole)
    for line in whole.decode("utf-8").splitlines():
        row = json.loads(line)
        yield Outcome(**{field.name: row[field.name] for field in fields(Outcome)})


@dataclass(frozen=True)
class Row:
    """One line of the table: an arm over one group of questions."""

    group: str
    arm: str
    questions: int
    right: int
    low: float  # 95 % interval of the accuracy
    high: float
    seconds: float  # mean of an answer
    run: float  # mean tokens of an answer
    reused: float  # mean tokens of an answer


def rows(outcomes: Sequence[Outcome]) -> list[Row]:
    """The table, group by group in the order of the questions, arm by arm."""
    groups = list(dict.fromkeys(outcome.group for outcome in outcomes))
    return [_row(group, arm, [o for o in outcomes if (o.group, o.arm) == (group, arm.name)])
            for group in groups for arm in ARMS]  # fmt: skip


def _row(group: str, arm: Arm, outcomes: Sequence[Outcome]) -> Row:
    right = sum(outcome.right for outcome in outcomes)
    low, high = wilson(right, len(outcomes))
    return Row(
        group=group,
        arm=arm.name,
        questions=len(outcomes),
        right=right,
        low=low,
        high=high,
        seconds=mean(outcome.seconds for outcome in outcomes),
        run=mean(outcome.run for outcome in outcomes),
        reused=mean(outcome.reused for outcome in outcomes),
    )


def wilson(right: int, total: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a proportion (E. B. Wilson, 1927), which also holds near 0 and 1."""
    share = right / total
    middle = share + Z**2 / (2 * total)
    reach = Z * sqrt(share * (1 - share) / total + Z**2 / (4 * total**2))
    scale = 1 + Z**2 / total
    return max(0.0, (middle - reach) / scale), min(1.0, (middle + reach) / scale)
