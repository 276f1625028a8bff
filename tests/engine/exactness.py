"""What the exactness tests share: the product and the oracle side by side on one tiny model, and a meter.

Here, and nowhere else, the oracle's options become the product's rules and the product's answer becomes a trace.
"""

import asyncio
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from flare_local.engine.call import Paragraph, Sentence, Tokens, Until, Whole
from flare_local.engine.engine import Engine
from flare_local.engine.model import LoadedModel
from flare_local.engine.packed_linear import pack_linears
from flare_local.engine.speculation import DRAFT_ONLY, Speculation
from flare_local.engine.text import TextCodec
from flare_local.policies.methods import METHODS
from flare_local.policies.rules import SCHEDULES, Brackets, FirstSentence, Overflow, QueryKind, Rules
from flare_local.retrieval.document import Document
from flare_local.tasks.exemplars import Exemplar, Exemplars
from flare_local.tasks.question_generation import question_exemplars, term_exemplars
from flare_local.trace.events import Answer
from tests.oracle.certificate import TOLERANCE
from tests.oracle.corpus import WordCorpus
from tests.oracle.margin import Margin
from tests.oracle.naive import NaiveModel
from tests.oracle.options import Options
from tests.oracle.policy import answer as oracle_answer
from tests.oracle.prompt import Example, Passage, Shots
from tests.oracle.trace import Trace, call_entry, differences
from tests.oracle.unit import PARAGRAPH, Unit, unit_end
from tests.tiny_models import CONTEXT, tiny_model, tiny_text, tiny_tokenizer

CORPUS = WordCorpus(tiny_text(7, 60), titles=[text[:9] for text in tiny_text(8, 60)])
EXAMPLES = (
    Example("Who was Anna Borg?", "Anna Borg was a painter. She died in Zürich.", (CORPUS.passages[0],)),
    Example("Where is the tower?", "No. 5 is the tower."),
)


class CorpusRetriever:
    """The oracle's corpus behind the product's `Retriever`."""

    corpus = CORPUS

    async def search(self, queries: Sequence[str], k: int) -> list[list[Document]]:
        await asyncio.sleep(0)
        return [
            [Document(p.id, p.title, p.text, 1.0, rank) for rank, p in enumerate(self.corpus.search(query, k), 1)]
            for query in queries
        ]


CORPUS_RETRIEVER = CorpusRetriever()


def always(lookup: int) -> Speculation:
    """Proposals that are made whatever they cost, so that runs can be counted: the draft, and `lookup` tokens more."""
    return Speculation(most=lookup, measured=False) if lookup else DRAFT_ONLY


def tiny_loaded(arch: str, dtype: torch.dtype, seed: int = 0, kind: str = "bytes") -> LoadedModel:
    """A tiny model as `load_model` would hand it to the engine."""
    tokenizer = tiny_tokenizer(kind)
    return loaded(tiny_model(arch, dtype, seed, kind), tokenizer, arch)


def loaded(module: Any, tokenizer: Any, name: str) -> LoadedModel:
    """Any module and tokenizer in memory as the engine takes them."""
    return LoadedModel(
        module=module.requires_grad_(False),
        codec=TextCodec(tokenizer),
        name=name,
        fingerprint="",
        dtype=module.dtype,
        device=torch.device("cpu"),
        context_length=CONTEXT,
        eos_ids=frozenset([tokenizer.eos_token_id]),
        vocab_size=module.config.get_text_config().vocab_size,
    )


def until_of(unit: Unit) -> Until:
    """The product's words for the oracle's unit."""
    if unit.kind == "sentence":
        return Sentence(min_chars=unit.value)
    if unit.kind == "tokens":
        return Tokens(unit.value)
    return Paragraph() if unit == PARAGRAPH else Whole()


def rules_of(options: Options, search_ahead: bool = False) -> Rules:
    """The product's rules for the oracle's options."""
    assert options.query_tokens is not None
    return Rules(
        schedule=SCHEDULES[options.schedule],
        theta=options.theta,
        beta=options.beta,
        top_k=options.top_k,
        look_ahead=options.look_ahead,
        unit=until_of(options.unit),
        first_sentence=FirstSentence(options.first_sentence),
        initial_retrieval=options.initial_retrieval,
        query_tokens=options.query_tokens,
        titles=options.titles,
        max_new_tokens=options.max_new_tokens,
        max_sentences=options.max_sentences,
        end_after=options.end_after,
        query=QueryKind(options.query),
        combine=options.combine,
        window=options.window,
        window_query=options.window_query,
        brackets=None if options.brackets == "schedule" else Brackets(options.brackets),
        search_bias=options.search_bias,
        overflow=Overflow.CUT if options.may_cut else Overflow.ERROR,
        search_ahead=search_ahead,
    )


def exemplars_of(options: Options) -> Exemplars:
    """The product's exemplars for the oracle's examples."""
    return _exemplars(options.shots)


def _exemplars(shots: Shots) -> Exemplars:
    examples = tuple(
        Exemplar(e.question, e.answer, tuple(_document(passage, rank) for rank, passage in enumerate(e.passages, 1)))
        for e in shots.examples
    )
    before = None if shots.before is None else _exemplars(shots.before)
    return Exemplars(examples, shots.instruction, shots.case, shots.example_case, before, shots.closing)


def shots_of(exemplars: Exemplars) -> Shots:
    """The oracle's form of the product's exemplars."""
    examples = tuple(
        Example(e.question, e.answer, tuple(Passage(d.id, d.title, d.text) for d in e.documents), e.hint)
        for e in exemplars.examples
    )
    case, before = exemplars.case, exemplars.before and shots_of(exemplars.before)
    return Shots(examples, exemplars.instruction, case, exemplars.example_case or case, exemplars.closing, before)


ASKING = {"asking": shots_of(question_exemplars()), "term": shots_of(term_exemplars())}
SELF_ASK = {  # short ones: each token of a tiny model is a forward
    "case": "Question: {question}\nFollow up?",
    "examples": (Example("Who?", "Yes.\nFollow up: Who was it?\nIntermediate answer: Anna.\nSo it is Anna."),),
}
SEARCH_SKILL = {
    "case": "Question: {question}\nAnswer (both):",
    "example_case": "Question: {question}\nAnswer:",
    "before": Shots((Example("Where?", "It is [Search(town of the tower)] here."),), "Search."),
    "closing": "Do both.",
}


def words_of(method: str, rng: random.Random) -> dict[str, Any]:
    """The exemplars of a method that has a prompt of its own."""
    if method == "question_decomposition":
        return SELF_ASK
    common = {"instruction": rng.choice(["", "Be brief."]), "examples": EXAMPLES[: rng.choice([0, 1, 2])]}
    return {**common, **(SEARCH_SKILL if method == "flare_instruct" else {})}


def _document(passage: Passage, rank: int) -> Document:
    return Document(passage.id, passage.title, passage.text, 0.0, rank)


def trace_of(answer: Answer) -> Trace:
    """The product's answer in the oracle's format."""
    return {
        "question": answer.question,
        "answer": answer.text,
        "stop": answer.stop_reason.value,
        "calls": [
            call_entry(
                w.prompt, w.max_new_tokens, w.generation, w.cut and (w.cut.exemplars, w.cut.documents, w.cut.words)
            )
            for w in answer.writings
        ],
        "searches": [
            {"query": query, "documents": [document.id for document in search.documents]}
            for search in answer.searches
            for query in search.queries
        ],
        "steps": [
            {"triggered": step.triggered, "queries": list(step.search.queries) if step.search else []}
            for step in answer.steps
        ],
    }


async def ask(
    engine: Engine,
    options: Options,
    question: str,
    search_ahead: bool = False,
    asker: Engine | None = None,
    retriever: CorpusRetriever = CORPUS_RETRIEVER,
) -> Answer:
    """The product's answer. `asker` writes the questions of explicit queries."""
    method, rules = METHODS[options.method], rules_of(options, search_ahead)
    policy = method.answer if asker is None else method.asked_by(asker.question(question), rules)
    lm = engine.question(question)
    return await policy(lm, retriever, question, exemplars_of(options), rules, None)


def random_options(rng: random.Random) -> Options:
    """Options over their whole range, most of them where both ways of every rule are taken."""
    schedule = rng.choice(["paper", "released"])
    return Options(
        method=rng.choice(["flare_direct"] * 8 + ["single_time", "no_retrieval"]),
        schedule=schedule,
        theta=rng.choice([0.0, 0.12, 0.15, 0.18, 0.2, 0.2, 0.25, 0.3, 0.35, 0.5, 0.8, 1.0]),
        beta=rng.choice([0.0, 0.2, 0.3, 0.4, 0.6, 0.9, 1.0, 1.0]),
        top_k=rng.choice([1, 2, 2, 3]),
        look_ahead=rng.choice([24, 24, 32, 64]),
        max_new_tokens=rng.choice([1, 24, 40, 48, 64]),
        unit=rng.choice([Unit("sentence", 5)] * 7 + [Unit("sentence", 15), Unit("paragraph"), Unit("tokens", 9)]),
        initial_retrieval=rng.random() < 0.8,
        first_sentence=rng.choice(["judge", "judge", "accept"]) if schedule == "paper" else "judge",
        end_after=rng.choice([None, None, None, r"built|\d"]),
        max_sentences=rng.choice([None, None, None, 3]),
        query_tokens=rng.choice([64, 64, 6]),
        titles=rng.random() < 0.3,
        instruction=rng.choice(["", "", "Answer the question. Be brief."]),
        examples=EXAMPLES[: rng.choice([0, 1, 2])],
    )


@dataclass
class Meter:
    """What the answers that were compared contained; a suite that lacks something proves nothing about it."""

    counts: Counter[str] = field(default_factory=Counter)

    def see(self, answer: Answer, naive: NaiveModel, options: Options) -> None:
        """Counts what one answer of the product contained."""
        count = self.counts
        count["answers"] += 1
        count[f"ended by {answer.stop_reason.value}"] += 1
        for step in answer.steps:
            if step.draft is not None:
                self._see_draft(step, options)
        for search in answer.searches:
            count["searches"] += 1
            count["no hits"] += not search.documents
        for writing in answer.writings:
            count["calls"] += 1
            count[f"calls ended by {writing.generation.stop.value}"] += 1
            count["evictions"] += writing.generation.counters.evicted
            if writing.generation.stop.value == "boundary" and options.unit.kind == "sentence":
                end = unit_end(writing.generation.text + " Xx xx", options.unit)
                count["cut inside a token"] += end is not None and end < len(writing.generation.text)
            window = getattr(naive.model.config, "sliding_window", None)
            count["window exceeded"] += bool(window) and len(writing.prompt) > window

    def _see_draft(self, step: Any, options: Options) -> None:
        count = self.counts
        count["drafts"] += 1
        count["drafts ended by a boundary"] += step.draft.generation.stop.value == "boundary"
        count["EOS in a draft"] += step.draft.generation.stop.value == "eos"
        count["triggered"] += step.triggered
        count["not triggered"] += not step.triggered
        if step.triggered:
            strict = options.schedule == "released"
            kept = [p > options.beta if strict else p >= options.beta for p in step.draft.generation.probabilities]
            text = "".join(p for p, keep in zip(step.draft.generation.pieces, kept, strict=True) if keep)
            count["empty queries"] += not text.strip()
        if not step.accepted and (drafted := step.sentence.generation.counters.drafted):
            accepted = step.sentence.generation.counters.accepted
            how = "not at all" if not accepted else "in full" if accepted == drafted else "in part"
            count[f"drafts accepted {how}"] += 1

    def share(self, part: str, whole: str) -> float:
        return self.counts[part] / max(1, self.counts[whole])


class Pair:
    """The product's engine settings and the oracle on one model, compared answer by answer."""

    def __init__(
        self,
        arch: str,
        dtype: torch.dtype,
        seed: int = 0,
        kind: str = "bytes",
        margin: Margin | None = None,
        tokenizer: Any = None,
    ) -> None:
        """`tokenizer`: a real one in the place of the tiny one of this `kind`."""
        spoken = tokenizer or tiny_tokenizer(kind)
        self.loaded = loaded(tiny_model(arch, dtype, seed, kind, tokenizer), spoken, arch)
        pack_linears(self.loaded.module)  # as a model that is loaded is; changes nothing in float64
        self.naive = NaiveModel(tiny_model(arch, dtype, seed, kind, tokenizer), spoken)
        self.margin = margin or Margin(exact=dtype == torch.float64)
        self.tolerance = TOLERANCE[dtype]

    def engine(self, slots: int = 4096, *, context: int | None = None, lookup: int = 0, **options: Any) -> Engine:
        """`context`: tokens that the model may hold, where that is less than it can. `lookup`: see `always`."""
        options = {"slots": slots, "poison": True, "speculation": always(lookup), **options}
        return Engine(replace(self.loaded, context_length=context or CONTEXT), **options)

    def compare(self, answer: Answer, options: Options) -> None:
        """Fails where the product's answer is not the oracle's."""
        trace = trace_of(answer)
        own = oracle_answer(self.naive, CORPUS.search, options, answer.question, lead=trace, margin=self.margin)
        found = differences(trace, own, self.tolerance)
        assert not found, f"{answer.question} under {options}: product against oracle: " + "; ".join(found[:4])

    def answer(self, engine: Engine, options: Options, question: str, meter: Meter | None = None) -> Answer:
        """Asks the product and compares."""
        answer = asyncio.run(ask(engine, options, question))
        self.compare(answer, options)
        if meter is not None:
            meter.see(answer, self.naive, options)
        return answer


def slots_needed(answers: Sequence[Answer]) -> int:
    """The least pool that lets each call of these answers run alone."""
    return max(len(w.prompt) + w.max_new_tokens for answer in answers for w in answer.writings)


def splits(engine: Engine) -> int:
    """Node splits of the engine's tree so far."""
    return engine._loop.tree.splits


def check_integrity(engine: Engine) -> None:
    """Every slot is owned exactly once, and nothing is locked when no call runs."""
    tree = engine._loop.tree
    tree.check_integrity()
    used = tree.pool.slots - tree.pool.free.count
    assert tree.idle == used, f"{used - tree.idle} slots are in use and nobody uses them"
