"""The oracle's reading of the rules, on texts by hand."""

import pytest

from tests.oracle.naive import NaiveModel, finish
from tests.oracle.prompt import Example, Passage, documents_block, exemplars_block, question_block
from tests.oracle.run import mask
from tests.oracle.tokens import PromptText, TokenText
from tests.oracle.unit import PARAGRAPH, SENTENCE, WHOLE, Unit, unit_end
from tests.tiny_models import tiny_model, tiny_tokenizer

EOS = frozenset([tiny_tokenizer().eos_token_id])


def ids_of(*pieces):
    """The ids of the tokens that are written exactly so."""
    text_of = TokenText(tiny_tokenizer())
    written = {text_of.text([i]): i for i in range(len(tiny_tokenizer()))}
    return [written[piece] for piece in pieces]


def ended(pieces, unit=SENTENCE, limit=64, stops=("\n\n",), eos=False):
    tokens = ids_of(*pieces) + (list(EOS) if eos else [])
    return finish(TokenText(tiny_tokenizer()), tokens, [0.5] * len(tokens), unit, limit, stops, EOS)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (" He was born in Borg. He died.", " He was born in Borg."),
        (" Dr. Smith went home. He slept.", " Dr. Smith went home."),
        (" The U.S. Army won. Then.", " The U.S."),
        (" No. It is not. Or", " No. It is not."),
        (" Yes. It is.", " Yes."),
        (" J. K. Rowling wrote it. It", " J. K. Rowling wrote it."),
        (" A line\nand more. And", " A line\nand more."),
    ],
)
def test_first_sentence(text, sentence):
    assert text[: unit_end(text, SENTENCE)] == sentence


@pytest.mark.parametrize("text", [" No end here", " The end.", "", " Yes"])
def test_nothing_is_cut_where_nothing_follows_a_sentence(text):
    assert unit_end(text, SENTENCE) is None


@pytest.mark.parametrize(
    ("text", "end"), [("\n\nOne\nTwo", 5), ("One \nTwo", 4), ("One", None), ("\n \n", None), ("One\n", 3)]
)
def test_paragraph_ends_at_the_line_break_after_words(text, end):
    assert unit_end(text, PARAGRAPH) == end


def test_token_that_straddles_the_cut_is_kept_whole():
    output = ended([" Anna", " sailed", ". K", " harbour"])
    assert (output.text, output.stop) == (" Anna sailed. K", "boundary")


def test_eos_counts_only_where_nothing_was_cut():
    assert ended([" Anna", " sailed", "."], eos=True).stop == "eos"
    cut = ended([" Anna", " sailed", ".", " Anna"], eos=True)
    assert (cut.text, cut.stop, cut.eos_probability) == (" Anna sailed.", "boundary", None)


def test_stop_string_inside_a_token_ends_the_text_before_it():
    output = ended([" Anna", " sailed", ".\n\n"])
    assert (output.text, output.stop, len(output.tokens)) == (" Anna sailed.", "stop", 3)


def test_one_token_is_never_cut():
    assert ended([". K"], Unit("sentence", 1), eos=True).stop == "eos"


def test_count_of_tokens_is_a_boundary_and_a_smaller_budget_is_not():
    assert ended([" Anna", " sailed"], Unit("tokens", 2)).stop == "boundary"
    assert ended([" Anna", " sailed"], Unit("tokens", 3), limit=2).stop == "length"
    assert ended([" Anna", " sailed"], WHOLE, limit=2).stop == "length"


def test_pieces_of_a_character_in_parts_join_to_the_text():
    tokenizer = tiny_tokenizer()
    ids = PromptText(tokenizer).encode(" Zürich é ïï")
    text_of = TokenText(tokenizer)
    assert "".join(text_of.pieces(ids)) == text_of.text(ids) == " Zürich é ïï"
    half = [i for i in range(len(tokenizer)) if text_of.text([i]) == "\ufffd"][:1]
    assert "".join(text_of.pieces([*ids, *half, *ids])) == text_of.text([*ids, *half, *ids])


@pytest.mark.parametrize("kind", ["bytes", "metaspace"])
def test_segments_are_data_and_keep_their_spaces(kind):
    tokenizer = tiny_tokenizer(kind)
    segment = "Question: What is </s> and <s>?\nAnswer:"
    ids = PromptText(tokenizer).encode(segment)
    assert TokenText(tokenizer).text(ids) == segment
    assert not set(ids) & set(tokenizer.all_special_ids)
    assert TokenText(tokenizer).text([*PromptText(tokenizer).encode("Anna"), *ids]) == "Anna" + segment


def test_bos_stands_in_front_where_the_tokenizer_puts_it():
    assert PromptText(tiny_tokenizer("bytes")).bos == []
    assert PromptText(tiny_tokenizer("metaspace")).bos == [tiny_tokenizer("metaspace").bos_token_id]


def test_mask_puts_one_space_for_each_token():
    assert mask([" Anna", " Bo", "rg", " sailed"], [True, False, False, True]) == "Anna   sailed"
    assert mask([" Anna"], [False]) == ""


def test_prompt_of_the_paper():
    passages = (Passage("1", "T", " One\r\ntwo\n"), Passage("2", "", "  "), Passage("3", "U", "three"))
    assert documents_block(passages, "paper") == "Search results:\n[1] One two\n[2] three\n"
    assert documents_block(passages, "paper", titles=True) == "Search results:\n[1] T: One two\n[2] U: three\n"
    assert documents_block(passages[:1], "released").endswith("descending order:\n[1]: One two\n")
    assert documents_block((), "paper") == ""
    example = Example("Who?", "Anna.", passages[2:])
    block = exemplars_block("Answer.", [example], "paper")
    assert block == "Answer.\n\nSearch results:\n[1] three\nQuestion: Who?\nAnswer: Anna.\n\n"
    assert question_block(" Who\nis it? ") == "Question: Who is it?\nAnswer:"


def test_naive_model_bans_and_biases_the_choice_and_not_the_probability():
    naive = NaiveModel(tiny_model("llama"), tiny_tokenizer())
    prompt = naive.encode("Question: Who was Anna Borg?\nAnswer:")
    free = naive.generate(prompt, WHOLE, 1)
    second = naive.generate(prompt, WHOLE, 1, banned=frozenset(free.generated))
    forced = naive.generate(prompt, WHOLE, 1, bias={second.generated[0]: 1e3})
    assert second.generated != free.generated
    assert second.probabilities[0] < free.probabilities[0]
    assert forced.generated == second.generated
    assert forced.probabilities == second.probabilities
