"""FLARE as a local engine with KV-cache reuse. This file is the table of contents; names load when first used."""

TYPE_CHECKING = False  # not of `typing`: nothing is imported before the command line watches for Ctrl-C
if TYPE_CHECKING:
    from flare_local.api import (
        flare_direct,
        flare_instruct,
        next_sentence,
        no_retrieval,
        previous_sentence,
        previous_window,
        question_decomposition,
        single_time,
    )
    from flare_local.engine.engine import Engine
    from flare_local.policies.rules import PAPER, RELEASED, Rules
    from flare_local.retrieval.lucene import LuceneIndex
    from flare_local.retrieval.search_server import SearchServer
    from flare_local.retrieval.searxng import Searxng
    from flare_local.served.model import ServedModel
    from flare_local.tasks.exemplars import Exemplar, Exemplars, read_exemplars
    from flare_local.trace.events import Answer

__version__ = "0.1.0"

_HOME = {
    "PAPER": "flare_local.policies.rules",
    "RELEASED": "flare_local.policies.rules",
    "Answer": "flare_local.trace.events",
    "Engine": "flare_local.engine.engine",
    "Exemplar": "flare_local.tasks.exemplars",
    "Exemplars": "flare_local.tasks.exemplars",
    "LuceneIndex": "flare_local.retrieval.lucene",
    "Rules": "flare_local.policies.rules",
    "SearchServer": "flare_local.retrieval.search_server",
    "Searxng": "flare_local.retrieval.searxng",
    "ServedModel": "flare_local.served.model",
    "flare_direct": "flare_local.api",
    "flare_instruct": "flare_local.api",
    "next_sentence": "flare_local.api",
    "no_retrieval": "flare_local.api",
    "previous_sentence": "flare_local.api",
    "previous_window": "flare_local.api",
    "question_decomposition": "flare_local.api",
    "read_exemplars": "flare_local.tasks.exemplars",
    "single_time": "flare_local.api",
}

__all__ = [
    "PAPER",
    "RELEASED",
    "Answer",
    "Engine",
    "Exemplar",
    "Exemplars",
    "LuceneIndex",
    "Rules",
    "SearchServer",
    "Searxng",
    "ServedModel",
    "__version__",
    "flare_direct",
    "flare_instruct",
    "next_sentence",
    "no_retrieval",
    "previous_sentence",
    "previous_window",
    "question_decomposition",
    "read_exemplars",
    "single_time",
]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOME[name]), name)
