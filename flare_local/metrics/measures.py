"""The figures of each task: which values of a question they are made of, and how."""

from dataclasses import dataclass

from flare_local.metrics.statistic import Figure, geometric_mean, mean, ratio


@dataclass(frozen=True)
class Measure:
    """One column of a table of results."""

    name: str
    title: str  # as the paper's tables have it, where it is in one
    of: tuple[str, ...]  # values of a question (`judge`)
    figure: Figure = mean
    percent: bool = True  # shown times 100
    better: int = 1  # 1: the higher, -1: the lower, 0: neither


def _share(name: str, title: str, better: int = 1) -> Measure:
    return Measure(name, title, (name,), better=better)


def _number(name: str, title: str) -> Measure:
    return Measure(name, title, (name,), percent=False, better=-1)


_WRONG_FORMAT = _share("wrong_format", "wrong format", better=-1)
_ROUGE = _share("rouge_l", "R-L")
_SHORT = (_share("em", "EM"), _share("f1", "F1"), _share("precision", "Prec."), _share("recall", "Rec."), _WRONG_FORMAT)
_READINGS = (
    _share("em", "EM"),
    _share("disambig_f1", "D-F1"),
    _ROUGE,
    Measure("dr", "DR", ("disambig_f1", "rouge_l"), geometric_mean),
    _WRONG_FORMAT,
)

OF_TASK = {
    "2wiki": _SHORT,
    "hotpotqa": _SHORT,
    "strategyqa": (_share("em", "EM"), _WRONG_FORMAT),
    "asqa": _READINGS,
    "asqa-hint": _READINGS,
    "wikiasp": (
        _share("unieval", "UniEval"),
        _share("entity_f1", "E-F1"),
        _share("entity_precision", "E-Prec."),
        _share("entity_recall", "E-Rec."),
        _ROUGE,
    ),
    "open": (_share("contains", "contains an answer"),),
}
RETRIEVAL = (
    _share("support", "support found"),
    _share("support_at_k", "recall@k"),
    _share("ndcg_at_k", "nDCG@k"),
)
COST = (
    _number("calls", "LM calls"),
    _number("searches", "retrievals"),
    _number("sentences", "sentences"),
    Measure("trigger_rate", "triggered", ("triggered", "sentences"), ratio, better=0),
    Measure("search_rate", "sentences with retrieval", ("searched", "sentences"), ratio, better=0),
    _number("tokens", "tokens"),
    _number("seconds", "seconds"),
)


def measures_of(task: str) -> tuple[Measure, ...]:
    """All figures of a task, the paper's first."""
    return OF_TASK[task] + RETRIEVAL + COST
