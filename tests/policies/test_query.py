"""What is searched (design 4a: masking, everything masked)."""

from dataclasses import replace

from flare_local.policies.query import masked_query
from flare_local.policies.rules import Rules
from tests.policies.scripted import says

PAPER, RELEASED = Rules.paper(), Rules.released()


def test_each_improbable_token_becomes_one_space() -> None:
    draft = says(" Ada", 0.9, " was", 0.9, " born", 0.9, " in", 0.9, " 18", 0.3, "15", 0.1, ".", 0.9)
    assert masked_query(draft, PAPER) == "Ada was born in  ."


def test_a_masked_piece_leaves_the_rest_of_its_word() -> None:
    assert masked_query(says(" Love", 0.9, "lace", 0.1, " wrote", 0.9), PAPER) == "Love  wrote"


def test_a_probability_of_exactly_beta_is_kept_only_in_the_paper() -> None:
    draft = says(" Ada", 0.9, " fell", 0.4)
    assert masked_query(draft, PAPER) == "Ada fell"
    assert masked_query(draft, RELEASED) == "Ada"


def test_beta_0_masks_nothing() -> None:
    draft = says(" Ada", 0.001, " fell", 0.9)
    for rules in (PAPER, RELEASED):
        assert masked_query(draft, replace(rules, beta=0)) == "Ada fell"


def test_where_everything_is_masked_the_paper_searches_the_sentence_and_the_program_nothing() -> None:
    draft = says(" Ada", 0.1, " fell.", 0.2)
    assert masked_query(draft, PAPER) == "Ada fell."
    assert masked_query(draft, RELEASED) == ""


def test_only_blanks_left_counts_as_everything_masked() -> None:
    draft = says(" Ada", 0.1, " ", 0.9, "\n", 0.9)
    assert masked_query(draft, PAPER) == "Ada"
    assert masked_query(draft, RELEASED) == ""


def test_a_blank_draft_gives_no_query() -> None:
    assert masked_query(says(" \n", 0.1), RELEASED) == ""
