"""What of a prompt goes where the model's context cannot hold it beside the answer. docs/prompts.md has the rule.

First documents, from the lowest rank; the last that stays may lose words at its end. Then exemplars, from the last.
Never the instruction, the question or the answer.
"""

import re
from collections.abc import Callable
from dataclasses import replace

from flare_local.errors import PromptTooLong
from flare_local.policies.rules import Overflow, Rules
from flare_local.retrieval.document import Document
from flare_local.trace.events import Cut

Documents = tuple[Document, ...]
WORD = re.compile(r"\s*\S+")


class Budget:
    """Tokens that a prompt may have, for the calls of one question. A pure function of its arguments: same cuts."""

    def __init__(
        self,
        context: int,
        rules: Rules,
        exemplars: int,
        fixed_tokens: Callable[[int], int],
        document_tokens: Callable[[Documents], int],
        beside: int = 0,
    ) -> None:
        """`context`: tokens of prompt and output together. `exemplars`: how many there are.

        `fixed_tokens`: tokens of all but the documents and the answer, without the last so many exemplars.
        `document_tokens`: tokens of the documents' block. `beside`: tokens that may stand behind the answer.
        """
        self._context = context
        self._rules = rules
        self._answer = rules.answer_tokens + beside
        self._exemplars = exemplars
        self._fixed_tokens = fixed_tokens
        self._document_tokens = document_tokens
        self._known: dict[tuple[Documents, int], tuple[Documents, Cut | None]] = {}

    def fit(self, documents: Documents, written: int, tokens: int) -> tuple[Documents, Cut | None]:
        """What stays of `documents`, and what goes; `written` tokens of the answer stand, `tokens` may follow.

        The room for a whole answer is kept free from the first call on, so that nothing changes while it grows.
        Raises `PromptTooLong` where even without documents and exemplars too much is left, or where nothing may go.
        """
        room = self._context - max(self._answer, written + tokens)
        key = (documents, room)
        if key not in self._known:
            self._known[key] = self._fit(documents, room)
        return self._known[key]

    def _fit(self, documents: Documents, room: int) -> tuple[Documents, Cut | None]:
        if self._fixed_tokens(0) + self._document_tokens(documents) <= room:
            return documents, None
        if self._rules.overflow is Overflow.ERROR:
            raise self._refusal(self._fixed_tokens(0) + self._document_tokens(documents), room, "")
        gone = self._exemplars_to_drop(room)
        shown = tuple(document for document in documents if document.text.strip())
        kept, words = self._documents_that_fit(shown, room - self._fixed_tokens(gone))
        return kept, Cut(gone, len(shown) - len(kept), words)

    def _exemplars_to_drop(self, room: int) -> int:
        for gone in range(self._exemplars + 1):
            if self._fixed_tokens(gone) <= room:
                return gone
        raise self._refusal(self._fixed_tokens(self._exemplars), room, " without documents and exemplars")

    def _documents_that_fit(self, documents: Documents, room: int) -> tuple[Documents, int]:
        """Those that fit, and how many words the last of them lost."""
        whole = next(n for n in range(len(documents), -1, -1) if self._document_tokens(documents[:n]) <= room)
        if whole == len(documents):
            return documents, 0
        kept, next_one = documents[:whole], documents[whole]
        words = WORD.findall(next_one.text)

        def with_words(count: int) -> Documents:
            return (*kept, replace(next_one, text="".join(words[:count])))

        fits, too_many = 0, len(words)
        while too_many - fits > 1:
            middle = (fits + too_many) // 2
            if self._document_tokens(with_words(middle)) <= room:
                fits = middle
            else:
                too_many = middle
        return (with_words(fits), len(words) - fits) if fits else (kept, 0)

    def _refusal(self, needed: int, room: int, what: str) -> PromptTooLong:
        answer = self._context - room
        may_go = " or let documents and exemplars be cut (--overflow cut)" if not what else ""
        return PromptTooLong(
            f"The prompt has {needed} tokens{what} and its answer up to {answer}; the model holds {self._context}.",
            f"Lower --max-new-tokens, shorten the prompt{may_go}.",
        )
