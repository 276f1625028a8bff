"""Tiny models with random weights that stand in for those that judge answers."""

from functools import lru_cache
from typing import Any

import torch

WORDS = "when was the old new bridge opened in 1904 1960 may by anna borg it is yes no Yes No . , ? : claim document"


@lru_cache(maxsize=1)
def word_tokenizer() -> Any:
    """A token a word; a text gets [CLS] in front and [SEP] behind, a pair [SEP] between."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    vocabulary = {word: at for at, word in enumerate([*special, *dict.fromkeys(WORDS.split())])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]"
    )


def qa_model(positions: int = 64, seed: int = 0) -> Any:
    """A RoBERTa with a QA head."""
    from transformers import RobertaConfig, RobertaForQuestionAnswering

    torch.manual_seed(seed)
    config = RobertaConfig(
        vocab_size=len(word_tokenizer()),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=48,
        max_position_embeddings=positions,
        type_vocab_size=1,
        pad_token_id=0,
        initializer_range=0.4,
    )
    return RobertaForQuestionAnswering(config).eval()


class Doubtful:
    """A QA model that finds by `doubt` more often that a text says nothing."""

    def __init__(self, model: Any, doubt: float) -> None:
        self._model, self._doubt = model, doubt
        self.config = model.config

    def eval(self) -> "Doubtful":
        return self

    def __call__(self, **inputs: Any) -> Any:
        out = self._model(**inputs)
        out.start_logits[:, 0] += self._doubt
        return out


@lru_cache(maxsize=1)
def t5_tokenizer() -> Any:
    """As T5's: a token a word, </s> behind a text."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    vocabulary = {word: at for at, word in enumerate(["<pad>", "</s>", "<unk>", *dict.fromkeys(WORDS.split())])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="<pad>", eos_token="</s>", unk_token="<unk>")


def t5_model() -> Any:
    """A T5 whose yes and no are about as probable."""
    from transformers import T5Config, T5ForConditionalGeneration

    torch.manual_seed(0)
    config = T5Config(
        vocab_size=len(t5_tokenizer()),
        d_model=32,
        d_kv=8,
        d_ff=48,
        num_layers=2,
        num_heads=4,
        decoder_start_token_id=0,
        initializer_factor=3.0,
    )
    return T5ForConditionalGeneration(config).eval()
