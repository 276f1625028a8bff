"""The tasks that answers can be judged by: what their questions need, and what their files are."""

from collections.abc import Callable
from dataclasses import dataclass

from flare_local.datasets.item import Item
from flare_local.errors import UsageError


@dataclass(frozen=True)
class Kind:
    """One task."""

    name: str
    title: str
    preset: str  # that its questions are asked with
    files: str  # what users download, and where its authors offer it
    split: str  # that the paper's figures are about
    official: tuple[int, ...]  # how many questions that split has in its forms
    fault: Callable[[Item], str]  # what an item lacks to be judged; empty where it lacks nothing
    holder: str | None = None  # the key under which a released file keeps its rows; "" is the split's name


def _answered(item: Item) -> str:
    return "" if item.answers else "no answer."


def _yes_or_no(item: Item) -> str:
    right = len(item.answers) == 1 and item.answers[0].lower() in ("yes", "no")
    return "" if right else 'the answer is neither "yes" nor "no".'


def _read(item: Item) -> str:
    return "" if item.readings else "no reading with a short answer (qa_pairs)."


def _summarised(item: Item) -> str:
    return "" if item.aspects else "no aspects."


_ASQA = "ASQA.json (google-research/language, language/asqa)"
KINDS = {
    kind.name: kind
    for kind in (
        Kind(
            "2wiki",
            "2WikiMultihopQA",
            "2wiki",
            "dev.json and id_aliases.json (github Alab-NII/2wikimultihop)",
            "dev",
            (12_576,),
            _answered,
        ),
        Kind(
            "hotpotqa",
            "HotpotQA",
            "2wiki",
            "hotpot_dev_distractor_v1.json or hotpot_dev_fullwiki_v1.json (hotpotqa.github.io)",
            "dev",
            (7_405,),
            _answered,
        ),
        Kind(
            "strategyqa",
            "StrategyQA",
            "strategyqa",
            "strategyqa_train.json or its parts (github eladsegal/strategyqa), or BIG-bench's task.json",
            "dev",
            (229, 2_061, 2_290),
            _yes_or_no,
            "examples",
        ),
        Kind("asqa", "ASQA", "asqa", _ASQA, "dev", (948,), _read, ""),
        Kind("asqa-hint", "ASQA with hints", "asqa-hint", f"{_ASQA} and a file of hints", "dev", (948,), _read, ""),
        Kind(
            "wikiasp",
            "WikiAsp",
            "wikiasp",
            "the folders of neulab/wikiasp, or the Arrow folder data/wikiasp of jzbjyb/FLARE",
            "test",
            (500,),
            _summarised,
        ),
        Kind("open", "Your own questions", "open", "JSONL with id, question, answers", "dev", (), _answered),
    )
}


def kind_of(name: str) -> Kind:
    """The task of that name. Raises `UsageError`."""
    if name not in KINDS:
        raise UsageError(f"There is no task {name!r}.", f"Tasks are {', '.join(KINDS)}.")
    return KINDS[name]
