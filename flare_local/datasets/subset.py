"""Which items of a dataset are asked: those that the paper's authors drew, or the first of an order by chance."""

from collections.abc import Sequence

from flare_local.datasets.item import Item
from flare_local.errors import UsageError
from flare_local.runs.choice import Choice

AUTHORS_SEED = 2022  # of the released program
AUTHORS_COUNT = 500
# How many questions the released program drew from; StrategyQA's 229 and WikiAsp's 500 it took whole.
DRAWN_FROM = {"2wiki": 12_576, "asqa": 948, "asqa-hint": 948}
WHOLE = {"strategyqa": 229, "wikiasp": 500}


def chosen(items: Sequence[Item], limit: int | None, seed: int | None) -> list[Item]:
    """The first `limit` items in an order by chance (that of `batch --shuffle`), the file's order without `seed`."""
    by_id = {item.id: item for item in items}
    return [by_id[asked.id] for asked in Choice(limit, seed).chosen([item.asked for item in items])]


def authors_subset(items: Sequence[Item], task: str) -> list[Item]:
    """The items that the released program would ask, in its order.

    It draws 500 by `datasets.Dataset.shuffle()` under numpy's seed 2022, which is this permutation as long as nothing
    else has drawn before; its authors published no ids. Raises `UsageError` where `items` are not all it drew from.
    """
    if task in WHOLE and len(items) == WHOLE[task]:
        return list(items)
    wanted = DRAWN_FROM.get(task) or WHOLE.get(task)
    if wanted is None:
        raise UsageError(f"The paper's authors drew no questions of {task}.", "Give --limit and --seed.")
    if len(items) != wanted:
        raise UsageError(
            f"The authors' questions of {task} are known by their place among {wanted:,}, and here are {len(items):,}.",
            "Give the file as it was released, or --limit and --seed.",
        )
    import numpy

    order = numpy.random.default_rng(AUTHORS_SEED).permutation(wanted)[:AUTHORS_COUNT]
    return [items[int(place)] for place in order]
