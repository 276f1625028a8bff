"""From resolved options to what answers a question: rules, exemplars, engine and index."""

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from flare_local.cli.sources import Options
from flare_local.config import MethodOptions, ModelOptions, RetrievalOptions
from flare_local.errors import SnapshotFault, UsageError
from flare_local.policies.methods import METHODS, Method
from flare_local.policies.rules import SCHEDULES, Brackets, FirstSentence, Overflow, QueryKind, Rules
from flare_local.tasks.exemplars import NONE, Exemplars, read_exemplars
from flare_local.tasks.presets import PRESETS

if TYPE_CHECKING:
    from flare_local.engine.engine import Engine
    from flare_local.engine.text import TextCodec
    from flare_local.retrieval.index import Index
    from flare_local.served.model import ServedModel
    from flare_local.served.tokenizer import LocalTokenizer

# Tokens that the pool of a question model holds beside two passages as long as an answer may get: the exemplars of both
# kinds of prompt and the cases of some sentences at once.
QUESTION_SLOTS = 8192


@dataclass(frozen=True)
class Task:
    """How questions are put and answered."""

    method: Method
    rules: Rules
    exemplars: Exemplars


def task_of(options: Options) -> Task:
    """Method, rules and exemplars: the user's file, else the preset's, else the demo's where its index is used.

    Raises `UsageError` for options that make no sense together, or a wrong exemplar file.
    """
    chosen = options.method
    method = METHODS[chosen.method]
    if uses_demo_settings(options):
        chosen = _with_demo_settings(options)
    exemplars = _exemplars(chosen)
    if chosen.instruction:
        exemplars = replace(exemplars, instruction=chosen.instruction)
    rules = rules_of(chosen, options.retrieval)
    if chosen.question_model is not None:
        method.check_question_model(rules)
    return Task(method, rules, method.words(exemplars))


def rules_of(method: MethodOptions, retrieval: RetrievalOptions) -> Rules:
    """The rules that options spell out."""
    end = method.end_pattern
    return Rules(
        schedule=SCHEDULES[method.schedule],
        theta=method.theta,
        beta=method.beta,
        top_k=method.top_k,
        look_ahead=method.look_ahead,
        unit=method.until,
        first_sentence=FirstSentence(method.first_sentence),
        initial_retrieval=method.initial_retrieval,
        query_tokens=retrieval.query_tokens,
        search_ahead=method.search_ahead,
        titles=method.titles,
        overflow=Overflow(method.overflow),
        max_new_tokens=method.max_new_tokens,
        max_sentences=method.max_sentences,
        end_after=None if end is None else end.pattern,
        sampling=method.sampling,
        query=QueryKind(method.query),
        combine=method.combine,
        window=method.window,
        window_query=method.window_query_tokens,
        brackets=None if method.brackets == "schedule" else Brackets(method.brackets),
        search_bias=method.search_bias,
    )


def uses_embedded_index(options: Options) -> bool:
    """Whether the demo's index stands in: no index is named, and not just a model of the user's asked."""
    return options.retrieval.index is None and (METHODS[options.method.method].retrieves or options.model.model is None)


def uses_demo_settings(options: Options) -> bool:
    """Whether the demo's exemplars and settings stand in too: its index does, and no task is named."""
    return uses_embedded_index(options) and options.method.preset is None


def open_engines(task: Task, options: Options, opened: ExitStack) -> "tuple[Engine | ServedModel, Engine | None]":
    """The model and the question model, if there is one; `opened` closes them.

    The question model goes first: its pool is small, and the other pool is sized by what is free then.
    """
    asker = question_model(options)
    questions = None
    if asker is not None:
        questions = opened.enter_context(open_engine(asker, QUESTION_SLOTS + 2 * task.rules.answer_tokens))
    if options.model.lm is not None:
        return opened.enter_context(open_served(options.model)), questions
    engine = opened.enter_context(open_engine(options.model))
    if options.model.warm is not None:
        check_warm(engine, options.model.warm, shared_prefixes_of(task, options, engine))
    return engine, questions


def shared_prefixes_of(task: Task, options: Options, engine: "Engine") -> tuple[tuple[int, ...], ...]:
    """What the prompts of all questions begin with under these options."""
    from flare_local.policies.shared_prefix import shared_prefixes

    lm = engine.question("", chat=options.model.chat_template)
    by_other = options.method.question_model is not None
    return shared_prefixes(task.method, lm, task.exemplars, task.rules, writes_questions=not by_other)


def check_warm(engine: "Engine", path: str, prefixes: Sequence[tuple[int, ...]]) -> None:
    """Raises `SnapshotFault` where no question would begin with what the snapshot at `path` brought."""
    if not prefixes:
        raise SnapshotFault(f"{path} is of no use: without exemplars questions share no prefix.", "Leave out --warm.")
    if not any(ids[: len(prefixes[0])] == prefixes[0] for ids in engine.warmed):
        raise SnapshotFault(
            f"{path} was written for other prompts: method, exemplars, their documents, instruction or chat template "
            "differ.",
            "Write it again with `flare-local warm` and these options.",
        )


def question_model(options: Options) -> ModelOptions | None:
    """The options of the question model: those of the model, without what is said of one model and its pool alone."""
    if options.method.question_model is None:
        return None
    folder = options.model.offload_folder
    return replace(
        options.model,
        model=options.method.question_model,
        lm=None,
        lm_model=None,
        revision=None,
        context=None,
        kv_memory=None,
        warm=None,
        offload_folder=None if folder is None else str(Path(folder) / "question-model"),
    )


def open_engine(options: ModelOptions, most_slots: int | None = None) -> "Engine":
    """Loads the model, the embedded one where none is named, and makes its pool."""
    if options.lm is not None:
        raise UsageError("This needs a model that runs here.", "Leave out --lm and --lm-model.")
    from flare_local.engine.engine import Engine

    return Engine.load(
        model_name(options),
        dtype=options.dtype,
        device=options.device,
        device_map=options.device_map,
        revision=options.revision,
        trust_remote_code=options.trust_remote_code,
        allow_pickle=options.allow_pickle,
        offload_folder=options.offload_folder,
        context=options.context,
        kv_memory=options.kv_memory,
        most_slots=most_slots,
        reuse=options.reuse,
        max_forward_tokens=options.max_forward_tokens,
        kernels=options.kernels,
        warm=options.warm,
    )


def open_model(options: ModelOptions) -> "Engine | ServedModel":
    """The model, here or at a server."""
    return open_engine(options) if options.lm is None else open_served(options)


def open_served(options: ModelOptions) -> "ServedModel":
    """Connects to the server of `--lm`."""
    from flare_local.http.client import Limits
    from flare_local.served.model import ServedModel

    assert options.lm is not None
    assert options.lm_model is not None
    return ServedModel.connect(
        options.lm,
        options.lm_model,
        model_name(options),
        revision=options.revision,
        context=options.context,
        trust_remote_code=options.trust_remote_code,
        at_once=options.lm_requests,
        limits=Limits(silence_s=options.lm_timeout),
    )


def open_codec(options: ModelOptions) -> "TextCodec":
    """Loads the model's tokenizer alone."""
    if options.lm is not None:
        return _local_tokenizer(options).codec
    from flare_local.engine.model import load_codec

    return load_codec(
        model_name(options),
        revision=options.revision,
        trust_remote_code=options.trust_remote_code,
        allow_pickle=options.allow_pickle,
    )


def context_of(options: ModelOptions, codec: "TextCodec") -> int:
    """Tokens that the model holds, without loading its weights."""
    if options.lm is not None:
        from flare_local.served.model import CONTEXT

        return _local_tokenizer(options).context_length or CONTEXT
    from flare_local.engine.model import read_context

    return read_context(
        model_name(options),
        codec,
        context=options.context,
        revision=options.revision,
        trust_remote_code=options.trust_remote_code,
        allow_pickle=options.allow_pickle,
    )


def _local_tokenizer(options: ModelOptions) -> "LocalTokenizer":
    from flare_local.served.tokenizer import load_tokenizer

    return load_tokenizer(
        model_name(options),
        revision=options.revision,
        context=options.context,
        trust_remote_code=options.trust_remote_code,
    )


def open_retriever(options: RetrievalOptions) -> "Index":
    """Opens the index, the embedded one where none is named."""
    from flare_local.retrieval.open import is_on_server, open_index, open_on_server

    if options.index is not None and is_on_server(options.index):
        if options.k1 is not None or options.b is not None:
            raise UsageError("--k1 and --b are settings of the server's index.", "Leave them out, or set them there.")
        from flare_local.engine.cache_folder import cache_folder

        cache = cache_folder() / "web.sqlite"
        return open_on_server(options.index, shown=options.web, excluded=options.exclude_domains, cache=cache)
    return open_index(index_name(options), k1=options.k1, b=options.b, scoring=options.bm25)


def open_index_of(task: Task, options: Options, opened: ExitStack) -> "Index | None":
    """The index, where the method searches; `opened` closes it."""
    if not task.method.retrieves:
        return None
    index = open_retriever(options.retrieval)
    opened.callback(index.close)
    return index


def with_exemplar_documents(task: Task, options: Options, index: "Index | None") -> Task:
    """The task with documents for its exemplars, where they were asked for and there is an index."""
    if index is None or not options.method.exemplar_documents:
        return task
    from flare_local.policies.exemplar_documents import with_documents

    asked = options.retrieval
    ranking = f"{asked.bm25} k1={asked.k1} b={asked.b}"
    return replace(task, exemplars=with_documents(task.exemplars, index, task.rules.top_k, ranking))


def say_what_is_embedded(task: Task, options: Options) -> None:
    """One line on stderr, where the user named no model or no index."""
    embedded = ["model SmolLM2-135M-Instruct (--model)"] if options.model.model is None else []
    if uses_embedded_index(options):
        demo = " with its exemplars" if uses_demo_settings(options) else ""
        embedded.append((f"index of an invented town{demo}" if task.method.retrieves else "exemplars") + " (--index)")
    if embedded:
        print(f"Using the embedded {' and the embedded '.join(embedded)}.", file=sys.stderr)


def model_name(options: ModelOptions) -> str:
    """The model's name or the path of the embedded one."""
    if options.model is not None:
        return options.model
    from flare_local.embedded import embedded_model

    return str(embedded_model())


def index_name(options: RetrievalOptions) -> str:
    """The index's name or the path of the embedded one."""
    if options.index is not None:
        return options.index
    from flare_local.embedded import embedded_index

    return str(embedded_index())


def _exemplars(chosen: MethodOptions) -> Exemplars:
    if chosen.exemplars is not None:
        return read_exemplars(Path(chosen.exemplars))
    return NONE if chosen.preset is None else PRESETS[chosen.preset].exemplars


def _with_demo_settings(options: Options) -> MethodOptions:
    """The demo's exemplars, titles, top-k and end, where the user left them alone."""
    from flare_local.embedded import EMBEDDED, embedded_exemplars

    demo = {**EMBEDDED, "exemplars": str(embedded_exemplars())}
    return replace(options.method, **{k: v for k, v in demo.items() if options.sources[k] == "default"})
