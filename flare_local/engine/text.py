"""Text of token ids and token ids of text. `TextCodec` is the only place that talks to a tokenizer."""

import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any
from unicodedata import normalize

from flare_local.errors import ModelError

UNFINISHED = "\ufffd"  # what a decoder shows for a character whose bytes are not all there yet
SENTINEL = "FLARELOCALCONTENT"  # stands for the prompt while a chat template is rendered
HALF_A_PAIR = re.compile("[\ud800-\udfff]")
SPACE_MARKS = ("\u2581", "\u0120")  # how SentencePiece and byte-level BPE write a leading space


@dataclass(frozen=True)
class ChatFrame:
    """What a chat template puts around a prompt: `head` stands in BOS's place, `tail` between x and the answer."""

    head: tuple[int, ...]
    tail: tuple[int, ...]
    head_text: str
    tail_text: str


class TextCodec:
    """Encodes prompt segments as data and gives the text of generated ids.

    Invariant: `decode` depends on the ids alone, never on what stands before them, because every decoding begins with
    the ids of the letter "a"; so a leading space is kept as the space that it is.
    """

    def __init__(self, tokenizer: Any) -> None:
        """`tokenizer`: any Hugging Face tokenizer."""
        self.tokenizer = tokenizer
        self.encode = lru_cache(maxsize=1024)(self._encode)  # long segments (exemplars) come again and again
        self.decode = lru_cache(maxsize=8192)(self._decode)  # starts() of n + 1 ids re-reads the n prefixes
        self.ids_beginning = lru_cache(maxsize=8)(self._ids_beginning)
        self._controls = _control_tokens(tokenizer)
        self._anchor = self._ids("a")
        self._anchor_length = len(self._raw(self._anchor))
        marks = tokenizer.convert_ids_to_tokens(list(self._anchor[:1]))
        self._adds_space = bool(marks) and str(marks[0]).startswith(SPACE_MARKS)
        self.bos = self._leading_ids()

    def _encode(self, text: str) -> tuple[int, ...]:
        """Ids of one prompt segment as data: no BOS, control tokens written in the text are encoded as plain text.

        A text that holds a control token's string is cut inside that string and each part is encoded by itself. Half of
        a surrogate pair, which no tokenizer reads, is encoded as U+FFFD.
        """
        parts = [HALF_A_PAIR.sub(UNFINISHED, text)]
        ids: list[int] = []
        while parts:
            part = parts.pop()
            part_ids, cuts = self._segment(part)
            if cuts:
                bounds = [0, *cuts, len(part)]
                parts.extend(part[begin:end] for begin, end in reversed(list(pairwise(bounds))))
            else:
                ids.extend(part_ids)
        return tuple(ids)

    def _decode(self, ids: tuple[int, ...]) -> str:
        """The text that `ids` add to a text in front of them, special tokens written out."""
        return self._raw(self._anchor + ids)[self._anchor_length :]

    def starts(self, ids: tuple[int, ...]) -> list[int]:
        """For each id the number of characters that were complete before it; never decreasing, first 0."""
        complete = [0]
        for count in range(1, len(ids)):
            complete.append(max(complete[-1], len(self.decode(ids[:count]).rstrip(UNFINISHED))))
        return complete[: len(ids)]

    def pieces(self, ids: tuple[int, ...]) -> tuple[str, ...]:
        """The text each id adds; joined they are `decode(ids)`. The id that completes a character carries it."""
        text = self.decode(ids)
        return tuple(text[begin:end] for begin, end in pairwise([*self.starts(ids), len(text)]))

    def _ids_beginning(self, text: str) -> tuple[int, ...]:
        """Ids of all tokens whose text begins with `text` (ASCII), after leading spaces or none; no control tokens."""
        written, byte = text[0], f"<0x{ord(text[0]):02X}>"  # tokenizers write ASCII as it is, or as a named byte
        vocabulary = self.tokenizer.get_vocab().items()
        likely = sorted({token for name, token in vocabulary if written in name or name == byte})
        return tuple(
            token
            for token in likely
            if token not in self._controls and self._decode((token,)).lstrip(" ").startswith(text)
        )

    def last_tokens(self, text: str, count: int) -> str:
        """`text` if it is at most `count` tokens long, else the text of its last `count` tokens, stripped."""
        ids = self.encode(text)
        return text if len(ids) <= count else self.decode(ids[-count:]).strip()

    def chat_frame(self, system: str | None = None) -> ChatFrame:
        """What the model's own chat template puts before and after the user's turn, up to the assistant's first word.

        Raises `ModelError` where the tokenizer has no template, or one that cannot carry a prompt unchanged.
        """
        if not getattr(self.tokenizer, "chat_template", None):
            raise ModelError("The model's tokenizer has no chat template.", "Leave out --chat-template.")
        messages = [] if system is None else [{"role": "system", "content": system}]
        messages.append({"role": "user", "content": SENTINEL})
        try:
            text = self.tokenizer.apply_chat_template(
                messages, tokenize=False, add_generation_prompt=True, enable_thinking=False
            )
        except Exception as error:  # templates are programs of the model's author and raise what they like
            raise ModelError(f"The model's chat template failed: {error}.", "Leave out --chat-template.") from error
        if text.count(SENTINEL) != 1:
            raise ModelError(
                f"The model's chat template repeats or drops the user's text ({text.count(SENTINEL)} times in it).",
                "Leave out --chat-template.",
            )
        head, tail = text.split(SENTINEL)
        return ChatFrame(self._ids(head), self._continuation(tail)[0], head, tail)

    def _segment(self, text: str) -> tuple[tuple[int, ...], list[int]]:
        """Ids of `text` without a space in front, and where it must be cut because a control token came out."""
        ids, spans = self._continuation(text)
        if spans is None:
            found = {text.find(token) for token in self._controls.values()} if self._controls else set()
            return ids, sorted(at + 1 for at in found if at >= 0 and len(text) > at + 1)
        cuts: list[int] = []
        kept: list[int] = []
        for token, (begin, end) in zip(ids, spans, strict=True):
            if not self._is_control(token, text[begin:end]):
                kept.append(token)
            elif end - begin > 1:
                cuts.append(begin + 1)
        return tuple(kept), cuts

    def _is_control(self, token: int, written: str) -> bool:
        # NOTE: an unknown word and a raw byte come out as tokens with names too; what was written tells them apart.
        return token in self._controls and _folded(written) == _folded(self._controls[token])

    def _continuation(self, text: str) -> tuple[tuple[int, ...], list[tuple[int, int]] | None]:
        """Ids and character spans of `text` as it stands after other text; spans are None for slow tokenizers."""
        if self._adds_space and text:
            ids, spans = self._ids_and_spans("\n" + text)
            line_break = self._ids("\n")
            if ids[: len(line_break)] == line_break:
                rest = None if spans is None else [(b - 1, e - 1) for b, e in spans[len(line_break) :]]
                return ids[len(line_break) :], rest
        return self._ids_and_spans(text)

    def _ids_and_spans(self, text: str) -> tuple[tuple[int, ...], list[tuple[int, int]] | None]:
        if not getattr(self.tokenizer, "is_fast", False):
            return self._ids(text), None
        encoding = self.tokenizer(text, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
        return tuple(encoding["input_ids"]), [(begin, end) for begin, end in encoding["offset_mapping"]]

    def _ids(self, text: str) -> tuple[int, ...]:
        return tuple(self.tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"])

    def _raw(self, ids: tuple[int, ...]) -> str:
        text = self.tokenizer.decode(list(ids), skip_special_tokens=False, clean_up_tokenization_spaces=False)
        return str(text)

    def _leading_ids(self) -> tuple[int, ...]:
        """What the tokenizer itself puts in front of every text: BOS, or nothing."""
        plain = self._anchor
        whole = tuple(self.tokenizer("a", add_special_tokens=True, verbose=False)["input_ids"])
        if not plain:
            return whole[:1] if whole[:1] == (self.tokenizer.bos_token_id,) else ()
        for at in range(len(whole) - len(plain) + 1):
            if whole[at : at + len(plain)] == plain:
                return whole[:at]
        return ()


def _control_tokens(tokenizer: Any) -> dict[int, str]:
    """Ids and strings that text must never turn into: special tokens, and added ones such as `<think>`.

    Added tokens of blanks only (runs of spaces in GPT-NeoX's vocabulary) or of one character are text.
    """
    added = {
        token: str(entry.content)
        for token, entry in tokenizer.added_tokens_decoder.items()
        if entry.special or len(entry.content.strip()) > 1
    }
    special = dict(zip(tokenizer.all_special_ids, tokenizer.all_special_tokens, strict=True))
    return added | {token: str(text) for token, text in special.items()}


def _folded(text: str) -> str:
    """Equal for all writings that a tokenizer's normaliser may take for the same token."""
    return normalize("NFKC", text).strip().casefold()
