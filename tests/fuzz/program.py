"""A random program: a tiny model, an engine, and questions with their options. A seed and a number give it again."""

import random
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import torch

from flare_local.policies.methods import METHODS
from tests.fuzz.words import CORPUS, Words, asking, examples
from tests.oracle.budget import count, without_last
from tests.oracle.options import Options
from tests.oracle.run import Run
from tests.oracle.tokens import PromptText
from tests.oracle.unit import PARAGRAPH, Unit
from tests.tiny_models import tiny_questions, tiny_tokenizer

ARCHITECTURES = (
    "llama",
    "qwen2",
    "gemma3_text",
    "mistral",
    "gemma2",
    "gpt2",
    "gpt_neox",
    "qwen3",
    "cohere2",
    "gpt_oss",
)
IN_FP32 = ("llama", "qwen2", "gemma3_text", "gpt_neox")
AT_ONCE = 8  # questions
LONG, TRIES = 120, 8  # tokens of a first prompt: drawn again until there are less
SEED, IN_CI = 0, 500  # programs that the test suite runs


def is_together(number: int) -> bool:
    """Whether this program asks eight questions at once; 60 of 500 do."""
    return number % 25 in (8, 16, 24)


@dataclass(frozen=True)
class Program:
    """Everything that decides what is run."""

    seed: int
    number: int
    arch: str
    kind: str  # of tokenizer
    dtype: torch.dtype
    cases: tuple[tuple[Options, str], ...]
    words: Words
    spare: int | None  # slots of the pool beyond what the longest call needs; None: far more than needed
    max_forward_tokens: int
    lookup: int
    reuse: bool
    search_ahead: bool

    def __str__(self) -> str:
        return f"program {self.number} of seed {self.seed} ({self.arch}, {self.kind}, {self.dtype})"


def program(seed: int, number: int) -> Program:
    """The program of that number."""
    rng = random.Random(f"program {seed} {number}")
    together = is_together(number)
    dtype = rng.choice([torch.float64] * 3 + [torch.float32])
    arch = rng.choice(ARCHITECTURES if dtype == torch.float64 else IN_FP32)
    kind = rng.choice(["bytes", "metaspace"])
    questions = tiny_questions(AT_ONCE if together else 1, rng.randrange(10**6))
    asks = not together and number % 8 == 3
    cases = [(short_options(rng, question, kind, asks), question) for question in questions]
    if rng.random() < 0.4:
        cases = with_small_context(cases, kind, rng)
    reuse = together or rng.random() < 0.9
    return Program(
        seed=seed,
        number=number,
        arch=arch,
        kind=kind,
        dtype=dtype,
        cases=tuple(cases),
        words=Words(search_end=rng.choice([".", "n", "e"]), answer=rng.choice(["o", "a", "."])),
        spare=rng.choice([0, 0, 20, 60]) if together else rng.choice([None, 0, 0, 20]),
        max_forward_tokens=rng.choice([24, 48, 64] if together else [16, 64, 512]),
        lookup=rng.choice([0, 0, 4]),
        reuse=reuse,
        search_ahead=reuse and rng.random() < 0.3,
    )


def short_options(rng: random.Random, question: str, kind: str, asks: bool) -> Options:
    """Options under which the first prompt is short, where method and schedule allow that. `asks`: for questions."""
    method = rng.choice([*METHODS, *["flare_direct", "flare_instruct"] * 2, "question_decomposition"])
    schedule = rng.choice(["paper", "released"])
    method = "flare_direct" if asks else method
    drawn = (random_options(method, schedule, rng, asks) for _ in range(TRIES))
    by_length = {prompt_tokens(options, question, kind)[1]: options for options in drawn}
    return next((options for length, options in by_length.items() if length < LONG), by_length[min(by_length)])


def random_options(method: str, schedule: str, rng: random.Random, asks: bool) -> Options:
    """Short answers, the settings over their ranges."""
    units = [Unit("sentence", 5)] * 5 + [Unit("sentence", 15), PARAGRAPH, Unit("tokens", 4)]
    betas = [0.0, 0.2, 0.3, 0.4, 0.6, 0.9, 1.0]
    thetas = [0.0, 0.2, 0.3, 0.5, 0.5, 0.8, 0.8, 1.0]
    explicit: dict[str, Any] = {}
    if asks or (method == "flare_direct" and rng.random() < 0.7):
        explicit = {"query": "explicit", **asking()}
        units, betas = [Unit("sentence", 5), PARAGRAPH, Unit("tokens", 9)], [0.0, 0.3, 0.4, 0.5, 0.6]
        thetas = [0.5, 0.8, 0.8, 1.0]
    combine = rng.random() < 0.25
    return Options(
        method=method,
        schedule=schedule,
        theta=rng.choice(thetas),
        beta=rng.choice(betas),
        top_k=rng.choice([1, 2, 2, 3]),
        look_ahead=12,
        max_new_tokens=rng.choice([1, 12, 16, 16, 20]),
        unit=rng.choice(units),
        initial_retrieval=combine or rng.random() < 0.8,
        first_sentence=rng.choice(["judge", "judge", "accept"]),
        end_after=rng.choice([None] * 4 + [r"built|\d"]),
        max_sentences=rng.choice([None] * 4 + [2]),
        query_tokens=rng.choice([64, 64, 6]),
        titles=rng.random() < 0.3,
        combine=combine,
        window=rng.choice([4, 7]),
        window_query=rng.choice([3, 7, None]),
        brackets=rng.choice(["schedule", "all", "one"]),
        search_bias=rng.choice([2.0, 6.0, 8.0, 12.0]),
        **examples(method, rng),
        **explicit,
    )


def with_small_context(cases: list[tuple[Options, str]], kind: str, rng: random.Random) -> list[tuple[Options, str]]:
    """The same cases with a context that has room for the longest question, but hardly for everything else."""
    prompts = [prompt_tokens(options, question, kind) for options, question in cases]
    needs = [(bare + longest, whole + longest) for bare, whole, longest in prompts]
    least = max(bare for bare, _ in needs)
    context = rng.randint(least - 1, max(least, *(whole for _, whole in needs)))
    may_cut = rng.random() < 0.9
    return [(replace(options, context=context, may_cut=may_cut), question) for options, question in cases]


def prompt_tokens(options: Options, question: str, kind: str) -> tuple[int, int, int]:
    """Tokens of the first prompt without examples and documents, of the whole of it, and of the longest answer."""
    run = Run(_encoder(kind), CORPUS.search, options, question, None, None)
    shots, passages = options.shots, CORPUS.search(question, options.top_k)
    bare, _ = run.prompt(without_last(shots, count(shots)), [], run.case, 0, 0)
    whole, _ = run.prompt(shots, passages, run.case, 0, 0)
    return len(bare), len(whole), run.longest


@lru_cache(maxsize=2)
def _encoder(kind: str) -> PromptText:
    return PromptText(tiny_tokenizer(kind))
