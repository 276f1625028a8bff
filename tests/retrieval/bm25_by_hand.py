"""Lucene's BM25 from its formula, over plain words; shares nothing with the product."""

from collections import Counter
from collections.abc import Mapping
from math import log


def scores(documents: Mapping[str, str], query: str, k1: float, b: float) -> dict[str, float]:
    """Of the documents that share a word with the query. For words that no analyser changes, and documents of up to
    40 words: longer lengths are stored coarsely by Lucene. A field without words does not count in the average."""
    counts = {name: Counter(text.split()) for name, text in documents.items() if text}
    average = sum(sum(count.values()) for count in counts.values()) / len(counts)
    total: dict[str, float] = {}
    for word in query.split():
        having = [name for name, count in counts.items() if word in count]
        idf = log(1 + (len(counts) - len(having) + 0.5) / (len(having) + 0.5))
        for name in having:
            tf, length = counts[name][word], sum(counts[name].values())
            total[name] = total.get(name, 0.0) + idf * tf / (tf + k1 * (1 - b + b * length / average))
    return total
