"""Floor, useful and recomputed tokens against sets of prefixes, the plainest trie there is."""

from hypothesis import given
from hypothesis import strategies as st

from flare_local.engine.counters import Counters
from flare_local.engine.ledger import Ledger

IDS = st.lists(st.integers(0, 2), max_size=7)
EVENTS = st.lists(st.tuples(st.booleans(), IDS, st.integers(0, 7)), max_size=20)


def prefixes(ids: list[int], begin: int = 0) -> set[tuple[int, ...]]:
    return {tuple(ids[:end]) for end in range(begin + 1, len(ids) + 1)}


@given(events=EVENTS)
def test_the_ledger_counts_as_sets_of_prefixes_do(events: list[tuple[bool, list[int], int]]) -> None:
    ledger, counters = Ledger(), Counters()
    run: set[tuple[int, ...]] = set()
    called: set[tuple[int, ...]] = set()
    recomputed = 0
    for is_call, ids, begin in events:
        if is_call:
            ledger.called(ids, counters)
            called |= prefixes(ids)
        else:
            known = max((len(each) for each in run if tuple(ids[: len(each)]) == each), default=0)
            begin = min(begin, known, len(ids))  # what lies before the tokens run was run before, or is run now
            ledger.ran(ids, begin, counters)
            recomputed += len(prefixes(ids, begin) & run)
            run |= prefixes(ids, begin)
    assert counters.floor == len(called)
    assert counters.recomputed == recomputed
    assert counters.useful == len(run & called)


def test_tokens_past_a_cut_stop_being_waste_when_the_next_call_goes_on_from_them() -> None:
    ledger, counters = Ledger(), Counters()
    ledger.ran([1, 2, 3, 4], 0, counters)
    ledger.called([1, 2], counters)
    assert counters.useful == 2
    ledger.called([1, 2, 3], counters)
    assert counters.useful == 3
