"""Tokenizers: ids, text, pieces, cuts and queries as the oracle's; and answers of tiny models that speak with them.

Besides the tiny ones these are real ones, with tens of thousands of tokens, as far as they are on this machine: of the
models that the demo and `--model FILE.gguf` converted into the cache folder, and of the folders that the variable
FLARE_TEST_TOKENIZERS names.
"""

import json
import os
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch

from flare_local.engine.cache_folder import cache_folder
from flare_local.engine.text import TextCodec
from tests.engine.exactness import CORPUS, EXAMPLES, Meter, Pair
from tests.oracle.options import Options
from tests.oracle.prompt import documents_block, exemplars_block, question_block
from tests.oracle.tokens import PromptText, TokenText
from tests.tiny_models import tiny_questions, tiny_text, tiny_tokenizer

HERE = [Path(folder) for folder in os.environ.get("FLARE_TEST_TOKENIZERS", "").split(os.pathsep) if folder]
CONVERTED = sorted(folder for folder in (cache_folder() / "gguf").glob("*") if (folder / "tokenizer.json").is_file())
FOLDERS = {json.loads((folder / "config.json").read_text())["vocab_size"]: folder for folder in [*CONVERTED, *HERE]}

TINY = ("bytes", "metaspace")

TEXTS = [
    "Zürich, naïve café — 東京は日本。 Привет! 👩‍👩‍👧 done.\r\n\ttabs  and   spaces\n\n\nend",
    "  a text that begins with blanks and ends with them  ",
    "x = {'a': [1, 2.5e-3]}\n    return x  # 100%\n",
    *tiny_text(3, 20),
]


def real(size: int) -> Any:
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(FOLDERS[size])


@pytest.fixture(scope="module", params=[*TINY, *FOLDERS], ids=str)
def tokenizer(request: pytest.FixtureRequest) -> Any:
    return tiny_tokenizer(request.param) if request.param in TINY else real(request.param)


def test_ids_of_segments_are_the_oracles(tokenizer: Any) -> None:
    codec, own = TextCodec(tokenizer), PromptText(tokenizer)
    assert list(codec.bos) == own.bos
    for text in TEXTS:
        assert list(codec.encode(text)) == own.encode(text)
        if len(tokenizer) > 1000:  # the tiny ones cannot spell everything
            assert codec.decode(codec.encode(text)) == text


def test_control_tokens_written_in_a_text_stay_text(tokenizer: Any) -> None:
    codec, own = TextCodec(tokenizer), PromptText(tokenizer)
    control = {token for token, added in tokenizer.added_tokens_decoder.items() if added.special}
    assert control
    for token in tokenizer.all_special_tokens:
        text = f"He wrote {token} twice: {token}{token}."
        ids = codec.encode(text)
        assert not control & set(ids)
        assert codec.decode(ids) == TokenText(tokenizer).text(own.encode(text)) == text


def test_text_pieces_and_starts_of_any_ids_are_the_oracles(tokenizer: Any) -> None:
    """Random ids: characters in parts, parts that never become one, control tokens."""
    rng = random.Random(1)
    codec, own = TextCodec(tokenizer), TokenText(tokenizer)
    prompt_text = PromptText(tokenizer)
    spellable = prompt_text.encode("".join(TEXTS))
    unfinished = 0
    for _ in range(300):
        pool = spellable if rng.random() < 0.5 else range(len(tokenizer))
        ids = tuple(rng.choices(pool, k=rng.randint(1, 12)))
        assert codec.decode(ids) == own.text(ids)
        assert codec.starts(ids) == own.starts(ids)
        assert list(codec.pieces(ids)) == own.pieces(ids)
        unfinished += "\ufffd" in own.text(ids)
        text = own.text(ids)
        most = rng.randint(1, 6)
        encoded = prompt_text.encode(text)
        expected = text if len(encoded) <= most else own.text(encoded[-most:]).strip()
        if "\ufffd" not in text:
            assert codec.last_tokens(text, most) == expected
    assert unfinished > 3


@pytest.mark.skipif(not FOLDERS, reason="no model is converted yet: scripts/demo.sh does it")
@pytest.mark.parametrize("size", FOLDERS, ids=str)
def test_seams_at_which_the_whole_text_would_be_encoded_differently(size: int) -> None:
    """A prompt's ids are those of its pieces. GPT-2's way of splitting (SmolLM2) takes the blank line that ends E as
    one token at the end of a text, and as two before a word; every other seam is as in the whole text.
    """
    encode = PromptText(real(size)).encode
    passages, rng = CORPUS.passages, random.Random(2)
    differ = Counter[str]()
    for question in tiny_questions(50, 42):
        block = documents_block(rng.sample(passages, 2), "paper")
        pieces = [exemplars_block("", EXAMPLES, "paper"), block, question_block(question), " " + rng.choice(TEXTS[3:])]
        for seam, before, after in zip(("E|D", "D|x", "x|y"), pieces, pieces[1:], strict=False):
            differ[seam] += encode(before + after) != encode(before) + encode(after)
    assert differ["E|D"] in (0, 50)
    assert differ["D|x"] == differ["x|y"] == 0


@pytest.mark.skipif(not FOLDERS, reason="no model is converted yet: scripts/demo.sh does it")
@pytest.mark.parametrize("size", FOLDERS, ids=str)
def test_answers_with_a_real_tokenizer_are_the_oracles(size: int) -> None:
    meter = Meter(Counter())
    pair = Pair("llama", torch.float64, 9, tokenizer=real(size))
    with pair.engine(2048, max_forward_tokens=64) as engine:
        for schedule, question in zip(["paper", "released"] * 2, tiny_questions(4, 41), strict=True):
            options = Options(schedule=schedule, theta=0.15, beta=0.3, look_ahead=32, max_new_tokens=48)
            pair.answer(engine, options, question, meter)
    assert meter.counts["calls ended by boundary"] > 2
