"""Which ids end an answer."""

from collections.abc import Iterable
from typing import Any


def eos_ids(holders: Iterable[Any], tokenizer: Any) -> frozenset[int]:
    """All ids that end an answer: those that the configs `holders` name, or else the tokenizer's; and BOS.

    A model that writes BOS begins another text. Instruct models whose files name their end of turn alone (as a GGUF
    file does) end a text in that way when they were asked without a chat template.
    """
    ids: set[int] = set()
    for holder in holders:
        value = getattr(holder, "eos_token_id", None)
        ids.update(value if isinstance(value, list | tuple) else [] if value is None else [value])
    if not ids and tokenizer.eos_token_id is not None:
        ids.add(tokenizer.eos_token_id)
    if tokenizer.bos_token_id is not None:
        ids.add(tokenizer.bos_token_id)
    return frozenset(ids)
