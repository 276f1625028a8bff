"""What random programs contained: programs that lack something prove nothing about it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from flare_local.policies.explicit_query import span_text, spans
from flare_local.policies.methods import METHODS
from flare_local.trace.events import Answer, Step
from tests.engine.exactness import rules_of
from tests.fuzz.program import LONG, Program
from tests.oracle.options import Options

KINDS = [f"{method}, {schedule}" for method in METHODS for schedule in ("paper", "released")]
LEAST_ALONE: dict[str, int] = {}
LEAST_AT_ONCE: dict[str, int] = {}


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
