"""The methods by name."""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from flare_local.engine.call import LanguageModel
from flare_local.policies.answering import Observer
from flare_local.policies.flare_direct import flare_direct
from flare_local.policies.no_retrieval import no_retrieval
from flare_local.policies.rules import Rules
from flare_local.policies.single_time import single_time
from flare_local.retrieval.document import Retriever
from flare_local.tasks.exemplars import Exemplars
from flare_local.trace.events import Answer

Policy = Callable[
    [LanguageModel, Retriever | None, str, Exemplars, Rules, Observer | None],
    Coroutine[Any, Any, Answer],
]


@dataclass(frozen=True)
class Method:
    """One way to answer."""

    name: str
    line: str  # what it does, for people
    source: str  # where the method is described
    retrieves: bool  # needs an index
    answer: Policy


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
            "flare_direct",
            "Draft a sentence; if unsure, search with it and write it again.",
            "paper section 3.2",
            True,
            flare_direct,
        ),
    )
}
