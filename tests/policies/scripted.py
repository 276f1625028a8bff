"""A language model and a retriever that say what a test wrote down, and remember what they were asked.

A prompt character's id is its code point; a generated piece gets an id of its own. So prompts read back as text.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from flare_local.engine.call import Call, Generation, Sampling, StopReason, Until
from flare_local.engine.counters import Counters
from flare_local.policies.answering import Observer
from flare_local.policies.methods import Policy
from flare_local.policies.rules import Rules
from flare_local.retrieval.document import Document
from flare_local.tasks.exemplars import NONE, Exemplars
from flare_local.trace.events import Answer

FIRST_PIECE = 0x110000  # above every code point
PAPER_RULES = Rules.paper()


def says(*pieces_and_probabilities: str | float, stop: str = "boundary", eos: float | None = None) -> Generation:
    """A generation: `says(" Tarrow", .9, " was", .3)`; its ids are filled in by the model."""
    pieces = tuple(str(piece) for piece in pieces_and_probabilities[::2])
    probabilities = tuple(float(p) for p in pieces_and_probabilities[1::2])
    assert len(pieces) == len(probabilities)
    ids = tuple(range(len(pieces)))
    return Generation(ids, probabilities, pieces, "".join(pieces), StopReason(stop), eos, Counters(calls=1, run=7))


@dataclass
class ScriptedModel:
    """Answers each call with the next line of its script."""

    script: list[Generation]
    prompts: list[str] = field(default_factory=list)
    budgets: list[int] = field(default_factory=list)
    untils: list[Until] = field(default_factory=list)
    speculated: list[str] = field(default_factory=list)
    samplings: list[Sampling] = field(default_factory=list)
    stops: list[tuple[str, ...]] = field(default_factory=list)
    marks: list[tuple[str, ...]] = field(default_factory=list)
    biases: list[Mapping[int, float]] = field(default_factory=list)
    banned: list[frozenset[int]] = field(default_factory=list)
    pieces: dict[int, str] = field(default_factory=dict)
    bos: tuple[int, ...] = ()
    tail: tuple[int, ...] = ()
    context_length: int = 4096
    beginning: tuple[int, ...] = (91, 92)  # what `ids_beginning` finds

    @property
    def codec(self) -> "ScriptedModel":
        return self

    def encode(self, text: str) -> tuple[int, ...]:
        return tuple(map(ord, text))

    def decode(self, ids: tuple[int, ...]) -> str:
        return self.read(ids)

    def ids_beginning(self, text: str) -> tuple[int, ...]:
        return self.beginning

    def read(self, ids: Sequence[int]) -> str:
        return "".join(self.pieces.get(token) or chr(token) for token in ids)

    def last_tokens(self, text: str, count: int) -> str:
        return text if len(text) <= count else text[-count:].strip()

    async def generate(self, call: Call) -> Generation:
        self.prompts.append(self.read(call.prompt))
        self.budgets.append(call.max_new_tokens)
        self.untils.append(call.until)
        self.speculated.append(self.read(call.speculate))
        self.samplings.append(call.sampling)
        self.stops.append(call.stop)
        self.marks.append(call.marks)
        self.biases.append(call.logit_bias)
        self.banned.append(call.banned)
        line = self.script.pop(0)
        ids = tuple(FIRST_PIECE + len(self.pieces) + at for at in range(len(line.pieces)))
        self.pieces |= dict(zip(ids, line.pieces, strict=True))
        return Generation(
            ids, line.probabilities, line.pieces, line.text, line.stop, line.eos_probability, line.counters
        )


@dataclass
class ScriptedRetriever:
    """Finds the texts a test listed for a query; an unlisted query finds `default`."""

    found: dict[str, list[str]] = field(default_factory=dict)
    default: list[str] = field(default_factory=list)
    queries: list[str] = field(default_factory=list)

    async def search(self, queries: Sequence[str], k: int) -> list[list[Document]]:
        self.queries += queries
        return [self._rank(self.found.get(query, self.default)[:k]) for query in queries]

    def _rank(self, texts: list[str]) -> list[Document]:
        return [
            Document(id=f"d-{text}", title="", text=text, score=10.0 - rank, rank=rank)
            for rank, text in enumerate(texts, start=1)
        ]


def ask(
    policy: Policy,
    script: list[Generation],
    retriever: ScriptedRetriever | None = None,
    rules: Rules = PAPER_RULES,
    exemplars: Exemplars = NONE,
    observe: Observer | None = None,
    question: str = "Who?",
) -> tuple[Answer, ScriptedModel]:
    """The answer to `question`, and the model that gave it. Every line of the script must be used."""
    model = ScriptedModel(list(script))
    answer = asyncio.run(_ask(policy, model, retriever or ScriptedRetriever(), question, exemplars, rules, observe))
    assert model.script == []
    return answer, model


async def _ask(
    policy: Policy,
    model: ScriptedModel,
    retriever: ScriptedRetriever,
    question: str,
    exemplars: Exemplars,
    rules: Rules,
    observe: Observer | None,
) -> Answer:
    return await policy(model, retriever, question, exemplars, rules, observe)
