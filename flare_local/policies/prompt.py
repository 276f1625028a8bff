"""The prompt `[E, D, x, y]`: exemplars, documents, question, answer so far (paper section 3 and appendix B).

A prompt is token ids. E, D and x are each encoded by themselves, y are the ids that were generated: nothing is
encoded twice, so that equal parts always have equal ids.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from flare_local.engine.call import LanguageModel
from flare_local.errors import UsageError
from flare_local.policies.budget import Budget
from flare_local.policies.rules import Rules
from flare_local.retrieval.document import Document
from flare_local.tasks.exemplars import Exemplar, Exemplars, has_half_a_pair, put
from flare_local.trace.events import Cut


@dataclass(frozen=True)
class Fitted:
    """A prompt that leaves room for what is to be generated."""

    ids: tuple[int, ...]
    documents: tuple[Document, ...]  # those in it, as they stand in it
    cut: Cut | None  # what was left out


class Prompt:
    """The prompts of one question; they differ in their documents and in the answer so far."""

    def __init__(self, lm: LanguageModel, question: str, exemplars: Exemplars, rules: Rules, beside: int = 0) -> None:
        """`beside`: tokens that may stand behind the answer.

        Raises `UsageError` where the question is blank or no text.
        """
        if not question.strip():
            raise UsageError("The question is empty.", "Ask something.")
        if has_half_a_pair(question):
            raise UsageError("The question holds half of a surrogate pair, which is no text.", "Ask it anew.")
        self._encode = lm.codec.encode
        self._rules = rules
        self._bos = lm.bos
        self._exemplars = exemplars
        self.question = self._ids_of(case_text(exemplars, question))
        self._case = self.question + lm.tail
        self._budget = Budget(
            lm.context_length,
            rules,
            exemplars.count,
            lambda gone: len(self._head(gone)) + len(self._case),
            lambda documents: len(self._documents(documents)),
            beside,
        )

    def fit(self, documents: Sequence[Document], answer: Sequence[int], tokens: int) -> Fitted:
        """`[E, D, x, y]` so that `tokens` more fit in the model's context. Raises `PromptTooLong`."""
        kept, cut = self._budget.fit(tuple(documents), len(answer), tokens)
        head = self._head(0 if cut is None else cut.exemplars)
        return Fitted((*head, *self._documents(kept), *self._case, *answer), kept, cut)

    def _head(self, gone: int) -> tuple[int, ...]:
        """BOS and E without its last `gone` exemplars."""
        return self._bos + self._ids_of(exemplars_text(self._exemplars.without_last(gone), self._rules))

    def _documents(self, documents: Sequence[Document]) -> tuple[int, ...]:
        return self._ids_of(documents_text(documents, self._rules))

    def _ids_of(self, text: str) -> tuple[int, ...]:
        return self._encode(text) if text else ()


def side_prompt(lm: LanguageModel, exemplars: Exemplars, case: str, rules: Rules, tokens: int) -> Fitted:
    """A prompt beside the answer's: exemplars of its own and a case of their kind, no documents.

    Exemplars go from the last where `tokens` more would not fit. Raises `PromptTooLong`.
    """
    asked = lm.codec.encode(case) + lm.tail
    head, cut = _head_beside(lm, exemplars, rules, len(asked), tokens)
    return Fitted(head + asked, (), cut)


def shared_head(lm: LanguageModel, exemplars: Exemplars, rules: Rules) -> tuple[int, ...]:
    """What all prompts with these exemplars begin with: BOS and E; empty where there is no E.

    Exemplars that leave no room for an answer are not in it. Raises `PromptTooLong`.
    """
    if not exemplars_text(exemplars, rules):
        return ()
    head, _ = _head_beside(lm, exemplars, rules, 0, 0)
    return head


def _head_beside(
    lm: LanguageModel, exemplars: Exemplars, rules: Rules, asked: int, tokens: int
) -> tuple[tuple[int, ...], Cut | None]:
    """BOS and the exemplars that fit beside a case of `asked` tokens and `tokens` new ones, and what was left out."""

    def head(gone: int) -> tuple[int, ...]:
        text = exemplars_text(exemplars.without_last(gone), rules)
        return lm.bos + (lm.codec.encode(text) if text else ())

    budget = Budget(lm.context_length, rules, exemplars.count, lambda gone: len(head(gone)) + asked, lambda _: 0)
    _, cut = budget.fit((), 0, tokens)
    return head(0 if cut is None else cut.exemplars), cut


def exemplars_text(exemplars: Exemplars, rules: Rules) -> str:
    """E: instruction and exemplars, each followed by a blank line; empty without both."""
    before = "" if exemplars.before is None else exemplars_text(exemplars.before, rules)
    parts = [exemplars.instruction] if exemplars.instruction else []
    parts += [exemplar_text(exemplar, exemplars, rules) for exemplar in exemplars.examples]
    parts += [exemplars.closing] if exemplars.closing else []
    return before + "".join(part + "\n\n" for part in parts)


def exemplar_text(exemplar: Exemplar, exemplars: Exemplars, rules: Rules) -> str:
    """One exemplar: its documents, its question as the task's examples are put, its answer."""
    space = "" if exemplar.answer[:1].isspace() else " "
    case = put(exemplars.example_case or exemplars.case, exemplar.question, exemplar.hint)
    return documents_text(exemplar.documents, rules) + case + space + exemplar.answer


def case_text(exemplars: Exemplars, question: str) -> str:
    """x: the question as the model sees it, up to where its answer begins.

    Raises `UsageError` where a hint is missing.
    """
    asked, hint = exemplars.split(question)
    return put(exemplars.case, one_line(asked), one_line(hint))


def documents_text(documents: Sequence[Document], rules: Rules) -> str:
    """D: a header and one line a document; empty where no document has a text."""
    shown = [document for document in documents if document.text.strip()]
    if not shown:
        return ""
    marks = (rules.schedule.document_mark.format(number=number) for number in range(1, len(shown) + 1))
    lines = (f"{mark} {_contents(document, rules)}" for mark, document in zip(marks, shown, strict=True))
    return "".join(line + "\n" for line in (rules.schedule.documents_header, *lines))


def _contents(document: Document, rules: Rules) -> str:
    title, text = one_line(document.title), one_line(document.text)
    return f"{title}: {text}" if rules.titles and title else text


def one_line(text: str) -> str:
    """`text` with each line break as one space, without blanks around it."""
    return text.replace("\r\n", " ").replace("\n", " ").replace("\r", " ").strip()
