"""When a draft triggers retrieval (design 4a: trigger, theta 0 and 1, EOS, blank drafts, first sentence)."""

from dataclasses import replace

from flare_local.policies.rules import FirstSentence, Rules
from flare_local.policies.trigger import triggers
from tests.policies.scripted import says

PAPER, RELEASED = Rules.paper(), Rules.released()


def test_one_improbable_token_triggers_and_none_does_not() -> None:
    for rules in (PAPER, RELEASED):
        assert triggers(says(" Ada", 0.9, " fell", 0.79), rules, first=False)
        assert not triggers(says(" Ada", 0.9, " fell", 0.81), rules, first=False)


def test_a_probability_of_exactly_theta_triggers_only_in_the_released_program() -> None:
    draft = says(" Ada", 0.8)
    assert not triggers(draft, PAPER, first=False)
    assert triggers(draft, RELEASED, first=False)


def test_theta_0_never_triggers_in_the_paper_and_always_in_the_released_program() -> None:
    unsure, sure = says(" Ada", 0.0), says(" Ada", 1.0)
    for draft in (unsure, sure):
        assert not triggers(draft, replace(PAPER, theta=0), first=False)
        assert triggers(draft, replace(RELEASED, theta=0), first=False)


def test_theta_1_always_triggers_also_where_every_probability_is_1() -> None:
    certain = says(" Ada", 1.0, " fell", 1.0)
    assert triggers(certain, replace(PAPER, theta=1), first=False)
    assert triggers(certain, replace(RELEASED, theta=1), first=False)


def test_theta_1_judges_no_token_of_an_empty_draft() -> None:
    assert not triggers(says(stop="eos"), replace(PAPER, theta=1), first=False)
    assert not triggers(says(stop="stop"), replace(RELEASED, theta=1), first=False)


def test_an_improbable_eos_counts_only_in_the_released_program() -> None:
    draft = says(" Ada", 0.9, stop="eos", eos=0.2)
    assert not triggers(draft, PAPER, first=False)
    assert triggers(draft, RELEASED, first=False)


def test_a_blank_draft_triggers_only_in_the_released_program() -> None:
    draft = says(" \n", 0.1, " ", 0.2)
    assert not triggers(draft, replace(PAPER, theta=1), first=False)
    assert not triggers(draft, PAPER, first=False)
    assert triggers(draft, RELEASED, first=False)


def test_the_first_draft_is_judged_unless_it_is_to_be_accepted() -> None:
    draft = says(" Ada", 0.1)
    for rules in (PAPER, RELEASED):
        accepting = replace(rules, first_sentence=FirstSentence.ACCEPT)
        assert triggers(draft, rules, first=True)
        assert not triggers(draft, accepting, first=True)
        assert triggers(draft, accepting, first=False)
