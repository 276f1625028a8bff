"""What random programs contained: programs that lack something prove nothing about it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from flare_local.policies.explicit_query import span_text, spans
from flare_local.policies.methods import METHODS
from flare_local.trace.events import Answer, Step
from tests.engine.exactness import rules_of
from tests.fuzz.program import ARCHITECTURES, LONG, Program
from tests.oracle.options import Options

KINDS = [f"{method}, {schedule}" for method in METHODS for schedule in ("paper", "released")]
LEAST_ALONE = {  # of 440 answers
    **dict.fromkeys(KINDS, 6),
    **dict.fromkeys(ARCHITECTURES, 10),
    "triggered": 100,
    "drafts accepted in full": 10,
    "drafts accepted in part": 5,
    "drafts accepted not at all": 10,
    "explicit, no span": 15,
    "explicit, one span": 15,
    "explicit, several spans": 8,
    "explicit, several queries": 4,
    "search calls that found documents": 3,
    "search calls that found nothing": 3,
    "search calls without a query": 3,
    "follow-up questions searched": 5,
    "follow-up questions without words": 3,
    "prompts without documents that were found": 60,
    "prompts with a shortened document": 20,
    "prompts without exemplars": 30,
    "refused": 6,
    "searched ahead": 10,
    "paused answers": 8,
    "ended by eos": 10,
    "ended by stop": 1,
    "ended by length": 50,
    "ended by max_sentences": 15,
    "ended by end_after": 5,
}
LEAST_AT_ONCE = {  # of 60 programs, 480 answers
    **dict.fromkeys(KINDS, 8),
    "programs with pauses": 40,
    "paused answers": 100,
    "tokens recomputed": 10_000,
    "explicit, no span": 10,
    "explicit, one span": 10,
    "explicit, several spans": 8,
    "search calls that found documents": 5,
    "search calls that found nothing": 5,
    "search calls without a query": 5,
    "follow-up questions searched": 5,
    "prompts without documents that were found": 30,
    "prompts with a shortened document": 8,
    "prompts without exemplars": 20,
    "refused": 3,
    "searched ahead": 10,
}


@dataclass
class Meter:
    """Counts over any number of programs."""

    counts: Counter[str] = field(default_factory=Counter)

    def see_all(self, program: Program, answers: Sequence[Answer | None]) -> None:
        """Counts what `program` and its answers contained."""
        self.counts["programs"] += 1
        before = self.counts["paused answers"]
        for (options, _), answer in zip(program.cases, answers, strict=True):
            self.see(program, options, answer)
        self.counts["programs with pauses"] += self.counts["paused answers"] > before

    def see(self, program: Program, options: Options, answer: Answer | None) -> None:
        """Counts what the answer to one question of `program` contained; None: it was refused."""
        count = self.counts
        count["answers"] += 1
        count[program.arch] += 1
        count[f"{options.method}, {options.schedule}"] += 1
        count["refused"] += answer is None
        if answer is None:
            return
        count[f"ended by {answer.stop_reason.value}"] += 1
        count["answers with evictions"] += answer.counters.evicted > 0
        count["tokens recomputed"] += answer.counters.recomputed
        count["paused answers"] += self._pauses(answer) > 0 if program.reuse else 0
        count["searched ahead"] += any(step.foresight is not None for step in answer.steps)
        for writing in answer.writings:
            count["calls"] += 1
            count["long prompts"] += len(writing.prompt) > LONG
            if writing.cut is not None:
                count["prompts without documents that were found"] += writing.cut.documents > 0
                count["prompts with a shortened document"] += writing.cut.words > 0
                count["prompts without exemplars"] += writing.cut.exemplars > 0
        for step in answer.steps:
            self._see_step(step, options)
        for step, after in pairwise(answer.steps):
            if step.call is not None or step.kept is not None:
                self._see_search_call(after)
        if options.method == "question_decomposition":
            for step in answer.steps:
                count["follow-up questions searched"] += step.search is not None
                count["follow-up questions without words"] += step.triggered and step.search is None

    def rarer_than(self, least: Mapping[str, int]) -> dict[str, int]:
        """What was counted less often than it must be."""
        return {what: self.counts[what] for what, bound in least.items() if self.counts[what] < bound}

    def _pauses(self, answer: Answer) -> int:
        """Calls for which tokens that stood in the pool for an earlier call of this answer were there no more."""
        pauses = 0
        for i, writing in enumerate(answer.writings):
            before = [(*earlier.prompt, *earlier.tokens) for earlier in answer.writings[:i]]
            own = max((_common(writing.prompt, ids) for ids in before), default=0)
            pauses += writing.generation.counters.reused < own - 1
        return pauses

    def _see_step(self, step: Step, options: Options) -> None:
        count = self.counts
        if step.draft is None:
            return
        count["drafts"] += 1
        count["triggered"] += step.triggered
        if not step.accepted and (drafted := step.sentence.generation.counters.drafted):
            accepted = step.sentence.generation.counters.accepted
            count[
                f"drafts accepted {'not at all' if not accepted else 'in full' if accepted == drafted else 'in part'}"
            ] += 1
        if step.triggered and options.query == "explicit":
            texts = [span_text(step.draft, span) for span in spans(step.draft, rules_of(options))]
            if options.schedule == "paper":
                texts = [text for text in texts if any(letter.isalnum() for letter in text)]
            found = sum(bool(text) for text in texts)
            count[f"explicit, {('no span', 'one span')[found] if found < 2 else 'several spans'}"] += 1
            if step.asked and step.search is not None:
                count["explicit, several queries" if len(step.search.queries) > 1 else "explicit, one query"] += 1
            count["explicit, nothing searched"] += step.search is None

    def _see_search_call(self, after: Step) -> None:
        if after.search is None:
            self.counts["search calls without a query"] += 1
        else:
            self.counts[f"search calls that found {'documents' if after.search.documents else 'nothing'}"] += 1


def _common(one: tuple[int, ...], other: tuple[int, ...]) -> int:
    return next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
