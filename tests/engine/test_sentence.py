"""The early stop against the cut of the whole look-ahead, on thousands of texts."""

import random

import pytest
from nltk.tokenize.punkt import PunktSentenceTokenizer

from flare_local.engine.call import Paragraph, Sentence
from flare_local.engine.sentence import certain_cut, final_cut
from tests.tiny_models import tiny_text

_WORDS = (
    "Dr. St. No. U.S. e.g. J. K. Ph.D. Jan. 5, 1990. 3.14 Mr. and Smith (born 1802). \"Yes.\" 'No!' Really?! ... .. A. "
    "the end. It went.) ? ! i.e. won.[1] Zürich. ok a.m. Inc. «Oui.» 東京。"
)
WORDS = [*_WORDS.split(), "\n", "\n\n"]


def random_texts(count: int, seed: int) -> list[str]:
    rng = random.Random(seed)
    texts = []
    for _ in range(count):
        words = rng.choices(WORDS, k=rng.randint(1, 14)) + rng.choices(tiny_text(1), k=rng.randint(0, 2))
        rng.shuffle(words)
        texts.append(" " + rng.choice([" ", " ", "  "]).join(words))
    return texts


@pytest.mark.parametrize("trained", [False, True])
def test_an_early_stop_cuts_where_the_whole_text_would_be_cut(trained: bool) -> None:
    until = Sentence(trained=trained)
    early = 0
    for text in random_texts(3000, seed=7):
        final = final_cut(text, until)
        for length in range(1, len(text) + 1):
            certain = certain_cut(text[:length], until)
            if certain is not None:
                assert certain == final, (text, text[:length])
                early += length < len(text)
                break
    assert early > 1000


def test_the_cut_is_the_released_programs_on_its_own_examples() -> None:
    cases = {
        " It was directed by Edward L. Cahn. Edward went.": " It was directed by Edward L. Cahn.",
        " J. K. Rowling wrote it. It sold.": " J. K. Rowling wrote it.",
        " Coolie No. 1 was directed by David Dhawan. Next.": " Coolie No.",
        " Dr. Smith went home. He slept.": " Dr. Smith went home.",
        " Mr. and Mrs. Smith. Hi.": " Mr. and Mrs.",
        " The U.S. Army won. Then.": " The U.S.",
        " 1. Foo bar. 2. Baz.": " 1. Foo bar.",
        " Yes. It is.": " Yes.",
        " No. It is not.": None,
        " Thus, the answer is A. So the answer is A.": None,
    }
    for text, sentence in cases.items():
        end = final_cut(text, Sentence())
        assert (None if end is None else text[:end]) == sentence


def test_the_cut_is_punkts_first_sentence_that_ends_at_least_five_characters_in() -> None:
    for text in random_texts(500, seed=8):
        ends = [end for _, end in PunktSentenceTokenizer().span_tokenize(text) if end >= 5]
        expected = ends[0] if ends and ends[0] < len(text) else None
        assert final_cut(text, Sentence()) == expected


def test_a_paragraph_ends_at_the_first_line_break_after_a_line_that_is_not_blank() -> None:
    assert final_cut("\n \n # Title here\nNext", Paragraph()) == len("\n \n # Title here")
    assert certain_cut("one line\n", Paragraph()) == 8
    assert final_cut("one line", Paragraph()) is None
    assert final_cut("\n\n", Paragraph()) is None
