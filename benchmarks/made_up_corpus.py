"""A corpus of made-up words with the frequencies of a language (Zipf's law): same numbers, same corpus."""

import json
import random
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path

WORDS = 60_000  # in the vocabulary
SYLLABLES = [head + vowel for head in (*"bdfgklmnprstvz", "ch", "st", "pr", "gl") for vowel in "aeiou"]
TOPIC_WORDS = 6  # words that belong to what a passage is about
TOPIC_SHARE = 0.2  # of a passage's words
LENGTHS = (60, 120)  # words of a passage; those of the paper's corpus have 100


def write_corpus(path: Path, passages: int, seed: int) -> None:
    """Writes `passages` lines of id, title and text."""
    with path.open("w", encoding="utf-8") as file:
        for number, (title, text) in enumerate(_passages(passages, random.Random(seed))):
            file.write(json.dumps({"id": f"p{number}", "title": title, "text": text}) + "\n")


def made_up_queries(path: Path, count: int, seed: int) -> list[str]:
    """`count` queries of 5 to 20 words, each a stretch of a passage of a JSONL corpus, as sentences for search are."""
    rng = random.Random(seed)
    chosen: list[str] = []
    with path.open(encoding="utf-8") as file:
        for seen, line in enumerate(file):
            at = seen if seen < count else rng.randrange(seen + 1)  # every passage is as likely as any other
            if at < count:
                chosen[at:at + 1] = [json.loads(line)["text"]]  # fmt: skip
    return [_stretch(text.split(), rng) for text in chosen]


def _stretch(words: list[str], rng: random.Random) -> str:
    length = rng.randint(5, 20)
    begin = rng.randrange(max(1, len(words) - length))
    return " ".join(words[begin : begin + length])


def _passages(count: int, rng: random.Random) -> Iterator[tuple[str, str]]:
    words = list(dict.fromkeys("".join(rng.choices(SYLLABLES, k=rng.randint(1, 5))) for _ in range(WORDS)))
    weights = list(accumulate(1 / (rank + 3) for rank in range(len(words))))
    for _ in range(count):
        topic = rng.choices(words, k=TOPIC_WORDS)
        length = rng.randint(*LENGTHS)
        text = rng.choices(words, cum_weights=weights, k=length)
        for at in rng.sample(range(length), int(length * TOPIC_SHARE)):
            text[at] = rng.choice(topic)
        yield " ".join(topic[:2]).title(), " ".join(text).capitalize() + "."
