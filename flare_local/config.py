"""Every option of flare_local: one frozen dataclass a concern, checked when it is made. Defaults are the paper's.

Where options come from (flags, environment, file) is the business of `flare_local.cli.sources`.
"""

import re
from dataclasses import dataclass
from typing import Annotated, Literal

from flare_local.engine.call import LOOK_AHEAD, Paragraph, Sampling, Sentence, Tokens, Until
from flare_local.engine.memory import budget_share
from flare_local.errors import UsageError
from flare_local.http.address import refuse_password
from flare_local.option import About, Limit, at_least, between, check_all

MAX_FORWARD_TOKENS = 512  # as in flare_local.engine.engine, which imports torch

Kernels = Literal["auto", "torch", "triton"]
Dtype = Literal["auto", "float32", "bfloat16", "float16", "float64"]
Bm25 = Literal["default", "paper"]
Web = Literal["snippets", "pages"]
Method = Literal[
    "no_retrieval",
    "single_time",
    "previous_window",
    "previous_sentence",
    "question_decomposition",
    "next_sentence",
    "flare_instruct",
    "flare_direct",
]
Query = Literal["implicit", "explicit"]
Brackets = Literal["schedule", "all", "one"]
Schedule = Literal["paper", "released"]
FirstSentence = Literal["judge", "accept"]
Splitter = Literal["untrained", "trained"]
Overflow = Literal["cut", "error"]
Preset = Literal["2wiki", "strategyqa", "asqa", "asqa-hint", "wikiasp", "open"]

END_AFTER = {"2wiki": "answer is", "strategyqa": "answer is"}  # presets of --end-after


def _is_device(text: str) -> bool:
    return re.fullmatch(r"auto|cpu|mps|cuda(:\d+)?", text) is not None


def _is_lm(text: str) -> bool:
    return re.match(r"openai:https?://", text) is not None


def _is_unit(text: str) -> bool:
    return re.fullmatch(r"sentence|paragraph|tokens:[1-9]\d*", text) is not None


def _is_token_count(text: str) -> bool:
    return re.fullmatch(r"all|[1-9]\d*", text) is not None


def _is_memory(text: str) -> bool:
    try:
        budget_share(text)
    except UsageError:
        return False
    return True


def _is_pattern(text: str) -> bool:
    try:
        re.compile(text)
    except re.error:
        return False
    return True


NAME = Limit("a name or a path", lambda text: bool(text.strip()))


@dataclass(frozen=True)
class ModelOptions:
    """Which language model, where it runs, and how much memory its KV cache gets."""

    model: Annotated[
        str | None,
        About("Hub name, local folder with safetensors, or GGUF file. Unset: the embedded demo model.", NAME),
    ] = None
    revision: Annotated[str | None, About("Branch, tag or commit of a hub model.")] = None
    dtype: Annotated[Dtype, About("Type of weights and KV; auto is float32, on a GPU 16 bits where saved so.")] = "auto"
    device: Annotated[
        str,
        About(
            "Where the model runs; auto takes cuda, then mps, then cpu.",
            Limit("auto, cpu, cuda, cuda:N or mps", _is_device),
        ),
    ] = "auto"
    device_map: Annotated[
        str | None, About("Accelerate's device map (auto, balanced, sequential) for a model larger than one device.")
    ] = None
    offload_folder: Annotated[str | None, About("Folder for layers that the device map puts on disk.")] = None
    context: Annotated[
        int | None,
        About("Longest prompt and answer together, in tokens; chooses a longrope model's factors.", at_least(1)),
    ] = None
    trust_remote_code: Annotated[bool, About("Run Python code that comes with the model.")] = False
    allow_pickle: Annotated[bool, About("Read weights saved as pickle, which can run code when read.")] = False
    kv_memory: Annotated[
        str | None,
        About(
            "Memory of the KV pool: a size (2GiB) or a share of what is free (0.3). Unset: half, on a CPU up to 2GiB.",
            Limit(
                "a size in KB, MB, GB, KiB, MiB or GiB (2GiB), or a share of what is free, above 0 and up to 1",
                _is_memory,
            ),
        ),
    ] = None
    reuse: Annotated[
        bool, About("Reuse KV between the calls of an answer and between answers; off is the naive baseline.")
    ] = True
    chat_template: Annotated[
        bool, About("Put the prompt into the model's chat template, the answer as a prefix of the assistant's turn.")
    ] = False
    warm: Annotated[
        str | None, About("Snapshot that `flare-local warm` wrote: its shared prefix is loaded and not computed.")
    ] = None
    max_forward_tokens: Annotated[
        int, About("Most new tokens in one forward; longer prompts run in chunks.", at_least(1))
    ] = MAX_FORWARD_TOKENS
    kernels: Annotated[
        Kernels, About("What computes attention and scores; auto is triton where all of the model is on NVIDIA GPUs.")
    ] = "auto"
    lm: Annotated[
        str | None,
        About(
            "Completions server that runs the model: openai:URL. Then --model names its tokenizer (docs/served.md).",
            Limit("openai:URL, as openai:http://localhost:8000/v1", _is_lm),
        ),
    ] = None
    lm_model: Annotated[str | None, About("What the server of --lm calls the model.")] = None
    lm_requests: Annotated[int, About("Requests that it gets at the same time, at most.", at_least(1))] = 16
    lm_timeout: Annotated[
        float, About("Seconds without a word from it before a request is sent again.", at_least(1))
    ] = 120.0

    def __post_init__(self) -> None:
        if self.lm is not None:
            refuse_password(str(self.lm), "--lm")
        check_all(self)
        if self.lm is not None and (self.lm_model is None or self.model is None):
            raise UsageError(
                "--lm needs --lm-model, the model's name at the server, and --model, whose tokenizer is read.",
                "Give both: --lm openai:URL --lm-model NAME --model FOLDER",
            )
        if self.lm is None and self.lm_model is not None:
            raise UsageError("--lm-model names a model at a server, and there is no --lm.", "Give --lm openai:URL.")
        if self.lm is not None and self.warm is not None:
            raise UsageError("A snapshot (--warm) is of no use to a served model.", "Leave out --warm.")


@dataclass(frozen=True)
class RetrievalOptions:
    """Which index, and how BM25 ranks."""

    index: Annotated[
        str | None,
        About(
            "Folder or name of an index, or a server's: opensearch:URL/INDEX, elasticsearch:URL/INDEX, searxng:URL. "
            "Unset: the embedded demo index.",
            NAME,
        ),
    ] = None
    bm25: Annotated[
        Bm25,
        About("default: Pyserini's (k1 0.9, b 0.4). paper: k1 1.2, b 0.75, best of title and text + 0.5 of the other."),
    ] = "default"
    k1: Annotated[float | None, About("BM25 term saturation; unset: as --bm25 says.", at_least(0))] = None
    b: Annotated[float | None, About("BM25 length normalisation; unset: as --bm25 says.", between(0, 1))] = None
    query_tokens: Annotated[
        int, About("Longer queries keep their last tokens, counted with the model's tokenizer.", at_least(1))
    ] = 64
    web: Annotated[Web, About("What searxng shows of a result: its snippet, or the fitting passage of its page.")] = (
        "snippets"
    )
    exclude_domains: Annotated[
        str, About("Domains that searxng leaves out: a.org,b.com (paper, table 8: preset wikiasp).")
    ] = ""

    def __post_init__(self) -> None:
        if self.index is not None:
            refuse_password(str(self.index), "--index")
        check_all(self)


@dataclass(frozen=True)
class MethodOptions:
    """When to retrieve, with what, and how the prompt is written (paper sections 3 and 5, appendices A and B)."""

    preset: Annotated[
        Preset | None, About("A task of the paper with its settings and exemplars; `flare-local presets` lists them.")
    ] = None
    method: Annotated[Method, About("How to retrieve; `flare-local methods` lists them.")] = "flare_direct"
    schedule: Annotated[
        Schedule, About("paper: drafts see no documents. released: as the authors' released program.")
    ] = "paper"
    theta: Annotated[
        float,
        About("A draft with a token less probable than this triggers retrieval (paper section 3.2.1).", between(0, 1)),
    ] = 0.8
    beta: Annotated[
        float, About("Tokens less probable than this are left out of the query (paper section 3.2.2).", between(0, 1))
    ] = 0.4
    query: Annotated[
        Query,
        About("implicit: the draft without its improbable tokens. explicit: questions the model writes for them."),
    ] = "implicit"
    question_model: Annotated[
        str | None,
        About(
            "Another model, named as --model, that writes the questions of explicit queries. Unset: the same.",
        ),
    ] = None
    top_k: Annotated[int, About("Documents put into the prompt.", at_least(1))] = 2
    look_ahead: Annotated[int, About("Most tokens of one draft (appendix A).", at_least(1))] = LOOK_AHEAD
    unit: Annotated[
        str, About("What is looked ahead at a time.", Limit("sentence, paragraph or tokens:N", _is_unit))
    ] = "sentence"
    first_sentence: Annotated[
        FirstSentence, About("Whether theta judges the first sentence too, or it is accepted as it is.")
    ] = "judge"
    initial_retrieval: Annotated[bool, About("Search with the question itself before the first sentence.")] = True
    combine: Annotated[
        bool, About("Keep the question's documents in front of all that is found later (paper, table 9).")
    ] = False
    window: Annotated[
        int, About("Tokens that previous_window writes between two searches (paper section 4).", at_least(1))
    ] = 16
    window_query: Annotated[
        str,
        About(
            "Last tokens that previous_window searches with (paper, table 4).",
            Limit("a whole number or all", _is_token_count),
        ),
    ] = "16"
    search_bias: Annotated[
        float, About('Added to the logits of "[" so that flare_instruct searches more often (appendix A).')
    ] = 2.0
    brackets: Annotated[
        Brackets,
        About(
            'Which tokens get it: all that begin with "[", one as in the released program, or as the schedule has it.'
        ),
    ] = "schedule"
    end_after: Annotated[
        str | None,
        About(
            "Answer ends with the sentence this regular expression is found in; presets: 2wiki, strategyqa.",
            Limit("a regular expression, 2wiki or strategyqa", _is_pattern),
        ),
    ] = None
    max_sentences: Annotated[int | None, About("Most sentences of an answer.", at_least(1))] = None
    max_new_tokens: Annotated[int, About("Most tokens of an answer (appendix A).", at_least(1))] = 256
    search_ahead: Annotated[
        bool, About("Search while a draft is still being written, and read what is found. Changes no answer.")
    ] = False
    titles: Annotated[bool, About("Write documents as `[1] Title: text`.")] = False
    overflow: Annotated[
        Overflow,
        About("A prompt too long for the model's context: cut loses documents, then exemplars; error refuses it."),
    ] = "cut"
    exemplars: Annotated[str | None, About("JSONL file of worked examples: question, answer, optional documents.")] = (
        None
    )
    exemplar_documents: Annotated[
        bool, About("Show each exemplar with the documents found for its question (appendix B).")
    ] = False
    instruction: Annotated[str, About("Text in front of the exemplars.")] = ""
    splitter: Annotated[Splitter, About("Punkt sentence splitter; untrained is what the authors ran.")] = "untrained"
    temperature: Annotated[float, About("0 is greedy.", at_least(0))] = 0.0
    top_p: Annotated[
        float,
        About(
            "Sample from the most probable tokens that sum to this.",
            Limit("a number above 0, up to 1", lambda p: 0 < p <= 1),
        ),
    ] = 1.0
    seed: Annotated[int, About("Seed of sampling; the same seed draws the same answer.", at_least(0))] = 0

    def __post_init__(self) -> None:
        check_all(self)

    @property
    def until(self) -> Until:
        """The unit of the look-ahead as the engine takes it."""
        if self.unit == "sentence":
            return Sentence(trained=self.splitter == "trained")
        return Paragraph() if self.unit == "paragraph" else Tokens(int(self.unit.removeprefix("tokens:")))

    @property
    def window_query_tokens(self) -> int | None:
        """`window_query` as a number; None for all."""
        return None if self.window_query == "all" else int(self.window_query)

    @property
    def sampling(self) -> Sampling:
        """How the engine chooses tokens."""
        return Sampling(self.temperature, self.top_p, self.seed)

    @property
    def end_pattern(self) -> re.Pattern[str] | None:
        """`end_after` compiled, presets looked up."""
        return None if self.end_after is None else re.compile(END_AFTER.get(self.end_after, self.end_after))


@dataclass(frozen=True)
class OutputOptions:
    """What is printed. Results go to stdout, everything else to stderr."""

    trace: Annotated[
        bool, About("Show each step: draft with its improbable tokens marked, query, documents, sentence.")
    ] = False
    json: Annotated[bool, About("Print one JSON object a question.")] = False
    dry_run: Annotated[bool, About("Print the prompt as it would be sent, and stop.")] = False

    def __post_init__(self) -> None:
        check_all(self)
