"""Text of generated tokens, and ids of prompt text: the oracle's own reading of a tokenizer."""

import json
from typing import Any

REPLACEMENT = "\ufffd"  # stands for a character whose bytes are not complete yet


class TokenText:
    """Decodes generated ids behind an anchor, so that a tokenizer's habits at the start of a text do not show."""

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer
        self.anchor: list[int] = tokenizer.encode("a", add_special_tokens=False)
        self.anchor_length = len(self._decode(self.anchor))

    def _decode(self, ids: list[int]) -> str:
        text: str = self.tokenizer.decode(ids, skip_special_tokens=False, clean_up_tokenization_spaces=False)
        return text

    def text(self, ids: list[int] | tuple[int, ...]) -> str:
        """Text that `ids` add behind other text."""
        return self._decode([*self.anchor, *ids])[self.anchor_length :]

    def beginning(self, text: str) -> list[int]:
        """All tokens whose text begins so, after spaces or none; no control tokens."""
        added = self.tokenizer.added_tokens_decoder
        control = {i for i, token in added.items() if token.special or len(token.content.strip()) > 1}
        control |= set(self.tokenizer.all_special_ids)
        return [
            i for i in range(len(self.tokenizer)) if i not in control and self.text([i]).lstrip(" ").startswith(text)
        ]

    def starts(self, ids: list[int] | tuple[int, ...]) -> list[int]:
        """For each token the number of characters that stand complete before it; never decreases."""
        starts: list[int] = []
        furthest = 0
        for i in range(len(ids)):
            if i:
                furthest = max(furthest, len(self.text(ids[:i]).rstrip(REPLACEMENT)))
            starts.append(furthest)
        return starts

    def pieces(self, ids: list[int] | tuple[int, ...]) -> list[str]:
        """The part of the text that belongs to each token; joined they are the text."""
        text = self.text(ids)
        bounds = [*self.starts(ids), len(text)]
        return [text[bounds[i] : max(bounds[i], bounds[i + 1])] for i in range(len(ids))]

    def keep(self, ids: list[int] | tuple[int, ...], cut: int) -> int:
        """How many tokens begin before character `cut`; a token that straddles it is kept."""
        return sum(start < cut for start in self.starts(ids))


class PromptText:
    """Encodes prompt segments as data: the string of a special token in a document is only a string."""

    def __init__(self, tokenizer: Any) -> None:
        from tokenizers import Tokenizer

        state = json.loads(tokenizer.backend_tokenizer.to_str())
        blank = [token for token in state["added_tokens"] if not token["special"] and not token["content"].strip()]
        state["added_tokens"] = blank  # runs of spaces are text; anything else there is a control token
        state["post_processor"] = None
        state["truncation"] = state["padding"] = None
        self.plain = Tokenizer.from_str(json.dumps(state))
        first = self.plain.encode("a").tokens[0]
        self.line_break: list[int] = self.plain.encode("\n").ids if first[0] in "▁Ġ" else []
        self.bos = self._in_front(tokenizer.encode("a", add_special_tokens=False), tokenizer.encode("a"))

    @staticmethod
    def _in_front(plain: list[int], whole: list[int]) -> list[int]:
        """What the tokenizer itself puts before a text."""
        return next(whole[:i] for i in range(len(whole)) if whole[i : i + len(plain)] == plain)

    def encode(self, segment: str) -> list[int]:
        """Ids of one segment, without BOS and without a space that was not written."""
        if not segment:
            return []
        if not self.line_break:
            return list(self.plain.encode(segment).ids)
        ids = list(self.plain.encode("\n" + segment).ids)
        count = len(self.line_break)
        assert ids[:count] == self.line_break, f"the line break merged with the segment {segment[:20]!r}"
        return ids[count:]
