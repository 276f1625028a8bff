"""The methods by name."""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import partial
from typing import Any

from flare_local.engine.call import LanguageModel
from flare_local.errors import UsageError
from flare_local.policies.answering import Observer
from flare_local.policies.flare_direct import flare_direct
from flare_local.policies.flare_instruct import flare_instruct, search_words
from flare_local.policies.next_sentence import next_sentence
from flare_local.policies.no_retrieval import no_retrieval
from flare_local.policies.previous_sentence import previous_sentence
from flare_local.policies.previous_window import previous_window
from flare_local.policies.question_decomposition import question_decomposition
from flare_local.policies.rules import QueryKind, Rules
from flare_local.policies.single_time import single_time
from flare_local.retrieval.document import Retriever
from flare_local.tasks.exemplars import Exemplars
from flare_local.tasks.self_ask import self_ask
from flare_local.trace.events import Answer

Policy = Callable[
    [LanguageModel, Retriever | None, str, Exemplars, Rules, Observer | None],
    Coroutine[Any, Any, Answer],
]


def _as_given(exemplars: Exemplars) -> Exemplars:
    return exemplars


@dataclass(frozen=True)
class Method:
    """One way to answer."""

    name: str
    line: str  # what it does, for people
    source: str  # where the method is described
    retrieves: bool  # needs an index
    answer: Policy
    options: tuple[str, ...] = ()  # names of the options that not every method has
    words: Callable[[Exemplars], Exemplars] = _as_given  # the exemplars that it shows in the place of the task's

    def asked_by(self, asker: LanguageModel, rules: Rules) -> Policy:
        """The policy with `asker` as the model that writes the questions of explicit queries."""
        self.check_question_model(rules)
        return partial(flare_direct, asker=asker)

    def check_question_model(self, rules: Rules) -> None:
        """Raises `UsageError` where a question model would have nothing to write."""
        if self.answer is not flare_direct or rules.query is not QueryKind.EXPLICIT:
            raise UsageError(
                "A question model writes the questions of explicit queries, and here are none.",
                "Take --method flare_direct --query explicit, or leave out --question-model.",
            )


METHODS = {
    method.name: method
    for method in (
        Method("no_retrieval", "The model answers alone.", "paper section 6.1", False, no_retrieval),
        Method(
            "single_time",
            "One search with the question, then the whole answer.",
            "paper section 2.2",
            True,
            single_time,
        ),
        Method(
            "previous_window",
            "A search every 16 tokens, with the last 16 tokens.",
            "paper section 4, table 4",
            True,
            previous_window,
            ("combine", "window", "window_query"),
        ),
        Method(
            "previous_sentence",
            "A search after every sentence, with that sentence.",
            "paper section 4",
            True,
            previous_sentence,
            ("combine", "unit"),
        ),
        Method(
            "question_decomposition",
            "The model asks itself follow-up questions; each is searched.",
            "paper section 4, prompt 3",
            True,
            question_decomposition,
            ("combine",),
            self_ask,
        ),
        Method(
            "next_sentence",
            "Draft a sentence, search with all of it, write it again.",
            "paper section 6.2, table 3",
            True,
            next_sentence,
            ("combine", "first_sentence", "unit"),
        ),
        Method(
            "flare_instruct",
            "The model writes [Search(query)] where it wants to look something up.",
            "paper section 3.1, appendix A",
            True,
            flare_instruct,
            ("combine", "search_bias", "brackets"),
            search_words,
        ),
        Method(
            "flare_direct",
            "Draft a sentence; if unsure, search with it and write it again.",
            "paper section 3.2",
            True,
            flare_direct,
            ("theta", "beta", "query", "question_model", "combine", "first_sentence", "unit"),
        ),
    )
}
