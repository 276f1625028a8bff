"""A language model that recites the same lines whatever it is asked: what changes then, the policy has changed."""

import re
from dataclasses import dataclass, field
from typing import Protocol

from flare_local.engine.call import Call, Generation, StopReason
from flare_local.engine.counters import Counters
from flare_local.engine.output import first_end

LINES = (  # something for every method; the improbable words have a capital letter
    " Ada Lovelace was born in London.",
    " Yes.\nFollow up: When was Ada born?\nIntermediate answer: Ada was born in 1815.",
    " She wrote [Search(notes of Ada Lovelace)] notes on an engine.",
    " When was Ada Lovelace born?",
    " nothing here is improbable.",
    " So the final answer is: 1815.",
)
CALLS = 14  # then it ends every answer


class Codec(Protocol):
    """The part of `TextCodec` that a prompt needs."""

    bos: tuple[int, ...]

    def encode(self, text: str, /) -> tuple[int, ...]: ...

    def decode(self, ids: tuple[int, ...], /) -> str: ...

    def ids_beginning(self, text: str, /) -> tuple[int, ...]: ...


class Characters:
    """A codec whose ids are code points, so that nothing of a prompt is lost."""

    bos: tuple[int, ...] = ()

    def encode(self, text: str) -> tuple[int, ...]:
        return tuple(map(ord, text))

    def decode(self, ids: tuple[int, ...]) -> str:
        return "".join(map(chr, ids))

    def ids_beginning(self, text: str) -> tuple[int, ...]:
        return (ord(text[0]),)


@dataclass
class Reciter:
    """A `LanguageModel` that reads with `reader`. Its tokens of output are words, so that these can be improbable."""

    reader: Codec
    tail: tuple[int, ...] = ()
    context_length: int = 1 << 30
    outputs: dict[int, str] = field(default_factory=dict)  # id of a word (negative) -> the word
    calls: int = 0
    rest: str = ""

    @property
    def bos(self) -> tuple[int, ...]:
        return self.reader.bos

    @property
    def codec(self) -> "Reciter":
        return self

    def encode(self, text: str) -> tuple[int, ...]:
        return self.reader.encode(text)

    def decode(self, ids: tuple[int, ...]) -> str:
        spoken = len(ids)  # words of the answer stand at the end of a prompt
        while spoken and ids[spoken - 1] < 0:
            spoken -= 1
        return self.reader.decode(ids[:spoken]) + "".join(self.outputs[word] for word in ids[spoken:])

    def ids_beginning(self, text: str) -> tuple[int, ...]:
        return self.reader.ids_beginning(text)

    def last_tokens(self, text: str, count: int) -> str:
        return " ".join(text.split(" ")[-count:])

    async def generate(self, call: Call) -> Generation:
        text = self.rest or (LINES[self.calls % len(LINES)] if self.calls < CALLS else "")
        self.calls += 1
        end, reason = first_end(text, call.stop, call.marks) or (
            len(text),
            StopReason.EOS if not text else StopReason.BOUNDARY,
        )
        self.rest = text[end:] if reason is StopReason.MARK else ""  # it goes on where a mark interrupted it
        words = re.findall(r" ?[^ ]+", text[:end])
        if len(words) > call.max_new_tokens:
            words, reason = words[: call.max_new_tokens], StopReason.LENGTH
        ids = tuple(-1 - len(self.outputs) - at for at in range(len(words)))  # no tokenizer has negative ids
        self.outputs |= dict(zip(ids, words, strict=True))
        probabilities = tuple(0.3 if word.strip()[:1].isupper() else 0.9 for word in words)
        return Generation(ids, probabilities, tuple(words), "".join(words), reason, None, Counters(calls=1))
