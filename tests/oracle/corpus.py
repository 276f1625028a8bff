"""A retriever for tiny models: passages in memory, ranked by the words they share with the query."""

import re
from collections import Counter

from tests.oracle.prompt import Passage


class WordCorpus:
    """`search` is a function of the query alone; passages without a common word are no hits."""

    def __init__(self, texts: list[str], titles: list[str] | None = None, letters: int = 3) -> None:
        """`letters`: of a word at least; shorter ones are not looked at."""
        self.word = re.compile(rf"\w{{{letters},}}")
        titles = titles or [""] * len(texts)
        self.passages = [
            Passage(str(i), title, text) for i, (title, text) in enumerate(zip(titles, texts, strict=True))
        ]
        self.words = [Counter(self._words(text)) for text in texts]

    def search(self, query: str, k: int) -> list[Passage]:
        """At most `k` passages, best first, ties in the order of the corpus."""
        wanted = Counter(self._words(query))
        scores = [sum(min(n, words[word]) / (1 + len(words)) for word, n in wanted.items()) for words in self.words]
        order = sorted(range(len(scores)), key=lambda i: (-scores[i], i))
        return [self.passages[i] for i in order[:k] if scores[i] > 0]

    def _words(self, text: str) -> list[str]:
        return self.word.findall(text.lower())
