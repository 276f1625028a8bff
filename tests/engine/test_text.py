"""Text of tokens, segments as data, cuts, chat frames: on byte-level BPE, Llama's kind and whole words."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flare_local.engine.text import TextCodec
from flare_local.errors import ModelError
from tests.tiny_models import tiny_text, tiny_tokenizer

KINDS = ["bytes", "metaspace"]


def words_tokenizer(**special: str) -> Any:
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = ["[UNK]", "<s>", "</s>", "the", "cat", "a", "sat", "."]
    core = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="[UNK]"))
    core.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(tokenizer_object=core, unk_token="[UNK]", eos_token="</s>", **special)


def bytes_alone() -> Any:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    core = Tokenizer(models.BPE({letter: i for i, letter in enumerate(alphabet)}, []))
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=core)


@pytest.mark.parametrize("kind", KINDS)
def test_tokens_that_begin_with_a_bracket_are_found_by_their_text(kind: str) -> None:
    tokenizer = tiny_tokenizer(kind)
    codec = TextCodec(tokenizer)
    texts = {token: codec.decode((token,)) for token in range(len(tokenizer))}
    special = set(tokenizer.all_special_ids)
    for letter in ("[", "(", "A"):
        expected = {token for token, text in texts.items() if text.lstrip(" ").startswith(letter)} - special
        assert set(codec.ids_beginning(letter)) == expected
        assert expected


def test_a_control_token_that_begins_with_a_bracket_is_none_of_them() -> None:
    assert TextCodec(words_tokenizer()).ids_beginning("[") == ()


@pytest.fixture(params=KINDS)
def codec(request: pytest.FixtureRequest) -> TextCodec:
    return TextCodec(tiny_tokenizer(request.param))


@pytest.mark.parametrize("kind", KINDS)
@given(ids=st.lists(st.integers(0, 280), max_size=30).map(tuple))
@settings(max_examples=60, deadline=None)
def test_pieces_join_to_the_text_and_starts_never_decrease(kind: str, ids: tuple[int, ...]) -> None:
    codec = TextCodec(tiny_tokenizer(kind))
    starts = codec.starts(ids)
    assert "".join(codec.pieces(ids)) == codec.decode(ids)
    assert len(starts) == len(ids)
    assert all(a <= b for a, b in pairwise([0, *starts]))


@pytest.mark.parametrize("kind", KINDS)
@given(text=st.text(st.sampled_from("ab .,\n'Zé<>/s"), max_size=40))
@settings(max_examples=150, deadline=None)
def test_a_segment_comes_back_as_it_was_written(kind: str, text: str) -> None:
    codec = TextCodec(tiny_tokenizer(kind))
    assert codec.decode(codec.encode(text)) == text


def test_no_segment_begins_with_a_space_of_its_own(codec: TextCodec) -> None:
    ids = codec.encode("Anna wrote a book.\n")
    assert codec.decode(codec.encode("Answer: ") + ids) == "Answer: Anna wrote a book.\n"


@pytest.mark.parametrize("text", ["</s>", "a</s>b", "the </s></s> cat", "<</s>/s>", " </s> ", "Question: </s>\n"])
def test_a_special_token_in_the_text_stays_text(codec: TextCodec, text: str) -> None:
    ids = codec.encode(text)
    assert codec.tokenizer.eos_token_id not in ids
    assert codec.decode(ids) == text


def test_an_added_token_in_the_text_stays_text() -> None:
    from copy import deepcopy

    tokenizer = deepcopy(tiny_tokenizer("bytes"))
    tokenizer.add_tokens(["<think>", "  "])
    codec = TextCodec(tokenizer)
    think, blanks = tokenizer.convert_tokens_to_ids(["<think>", "  "])
    ids = codec.encode("a <think> b  c")
    assert think not in ids
    assert blanks in ids  # a run of blanks is text, however the vocabulary came by it
    assert codec.decode(ids) == "a <think> b  c"


def test_an_unknown_word_may_be_the_unknown_token() -> None:
    codec = TextCodec(words_tokenizer())
    assert codec.encode("the dog") == (3, 0)
    assert codec.encode("the</s>cat") == (3, 0, 0, 0, 0, 4)  # the < / s > cat


def test_long_texts_full_of_special_tokens_are_encoded_in_time(codec: TextCodec) -> None:
    ids = codec.encode("x </s> " * 3000)
    assert codec.tokenizer.eos_token_id not in ids


def test_a_character_of_several_tokens_belongs_to_the_last_of_them() -> None:
    codec = TextCodec(bytes_alone())
    ids = codec.encode("a東b")
    assert codec.pieces(ids) == ("a", "", "", "東", "b")
    assert codec.starts(ids) == [0, 1, 1, 1, 2]
    assert codec.pieces(ids[:3]) == ("a", "", "\ufffd")


def test_the_space_in_front_of_generated_text_is_kept(codec: TextCodec) -> None:
    both = codec.encode("Answer: Anna")
    after = both[len(codec.encode("Answer:")) :]
    assert codec.decode(after) == " Anna"


def test_bos_is_what_the_tokenizer_itself_would_add() -> None:
    assert TextCodec(tiny_tokenizer("bytes")).bos == ()
    metaspace = tiny_tokenizer("metaspace")
    assert TextCodec(metaspace).bos == (metaspace.bos_token_id,)
    assert TextCodec(words_tokenizer(bos_token="<s>")).bos == ()


def test_a_query_keeps_its_last_tokens(codec: TextCodec) -> None:
    text = " ".join(tiny_text()[:5])
    cut = codec.last_tokens(text, 8)
    assert text.endswith(cut)
    assert cut == codec.decode(codec.encode(text)[-8:]).strip()
    assert codec.last_tokens("Anna ", 64) == "Anna "


CHAT = (
    "{% for m in messages %}[{{ m['role'] }}]{{ m['content'] | trim }}{{ eos_token }}{% endfor %}"
    "{% if add_generation_prompt %}[assistant]{% endif %}"
)


def test_a_chat_template_frames_the_prompt() -> None:
    from copy import deepcopy

    tokenizer = deepcopy(tiny_tokenizer("bytes"))
    tokenizer.chat_template = CHAT
    frame = TextCodec(tokenizer).chat_frame(system="Be short.")
    assert frame.head_text == "[system]Be short.</s>[user]"
    assert frame.tail_text == "</s>[assistant]"
    assert tokenizer.eos_token_id in frame.head
    assert frame.tail[0] == tokenizer.eos_token_id


@pytest.mark.parametrize("template", [None, "{{ raise_exception('no') }}", "hello", "{{ messages[0]['content'] * 2 }}"])
def test_a_chat_template_that_cannot_carry_the_prompt_is_refused(template: str | None) -> None:
    from copy import deepcopy

    tokenizer = deepcopy(tiny_tokenizer("bytes"))
    tokenizer.chat_template = template
    with pytest.raises(ModelError, match="chat template"):
        TextCodec(tokenizer).chat_frame()
