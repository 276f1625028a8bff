"""What kinds and groups of work are called where people read of them."""

from flare_local.spans import Kind

LABELS: dict[Kind, str] = {
    Kind.PREFILL: "prefill",
    Kind.DECODE: "decode",
    Kind.VERIFY: "verify",
    Kind.MIXED: "mixed",
    Kind.PLAN: "planning of forwards",
    Kind.SCORE: "scores and choices",
    Kind.TEXT: "text of tokens",
    Kind.SENTENCE: "ends of sentences",
    Kind.TREE: "prefix tree",
    Kind.PROMPT: "prompts in tokens",
    Kind.OUTPUT: "output",
    Kind.SEARCH: "search",
    Kind.POLICY: "policy",
    Kind.PYTHON: "interpreter, command line",
    Kind.IMPORTS: "imports",
    Kind.MODEL: "model",
    Kind.CHECK: "self-check",
    Kind.POOL: "KV pool",
    Kind.JAVA: "Java",
    Kind.INDEX: "index",
    Kind.CLOSE: "closing",
    Kind.OTHERS: "forwards of other questions",
    Kind.WAIT: "hand-over between threads",
    Kind.RUN: "unnamed",
}
GROUPS: dict[str, tuple[Kind, ...]] = {
    "start": (Kind.PYTHON, Kind.IMPORTS, Kind.MODEL, Kind.CHECK, Kind.POOL, Kind.JAVA, Kind.INDEX),
    "forwards": (Kind.PREFILL, Kind.DECODE, Kind.VERIFY, Kind.MIXED),
    "search": (Kind.SEARCH,),
    "host work": (
        Kind.PLAN,
        Kind.SCORE,
        Kind.TEXT,
        Kind.SENTENCE,
        Kind.TREE,
        Kind.PROMPT,
        Kind.OUTPUT,
        Kind.POLICY,
    ),
    "waiting": (Kind.OTHERS, Kind.WAIT),
    "end": (Kind.CLOSE,),
    "unnamed": (Kind.RUN,),
}
QUIET = frozenset({Kind.WAIT, Kind.POLICY, Kind.RUN, Kind.OTHERS})  # no work of their own: others do it meanwhile
