"""Documents, questions and exemplars are data: whatever stands in them, nothing begins or ends because of it."""

import asyncio
import io
import json
import re
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from flare_local.engine.text import TextCodec
from flare_local.errors import UsageError
from flare_local.policies.methods import METHODS
from flare_local.policies.rules import PAPER, RELEASED, QueryKind, Rules, Schedule
from flare_local.retrieval.build import build_index
from flare_local.retrieval.document import Document
from flare_local.retrieval.open import open_index
from flare_local.tasks.exemplars import Exemplar, Exemplars, read_exemplars
from flare_local.tasks.files import own_exemplars
from flare_local.tasks.question_generation import question_case, term_case
from flare_local.tasks.search_skill import with_search_skill
from flare_local.trace.events import Answer
from flare_local.trace.json import answer_line
from flare_local.trace.terminal import TraceView
from tests.hostile.attacks import ATTACKS
from tests.hostile.reciter import Characters, Codec, Reciter
from tests.tiny_models import tiny_tokenizer

SCHEDULES = [PAPER, RELEASED]
KINDS: dict[tuple[str, ...], dict[str, Any]] = {
    (): {},
    ("explicit",): {"query": QueryKind.EXPLICIT},
    ("combined",): {"combine": True},
}
ALL = [*METHODS, "flare_direct explicit", "flare_direct combined"]
QUESTION = "Who was Ada?"
LOOP = asyncio.new_event_loop()  # one for thousands of answers
CONTROL = ("</s>", "<s>", "<unk>", "<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|eot_id|>")
ADDED = ("<|start_header_id|>", "<|end_header_id|>", "[INST]", "[/INST]", "<tool_call>", "</tool_call>", "<think>")
COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def tokenizers() -> Iterator[tuple[str, Any]]:
    """Byte-level BPE and Llama's kind, as they are and with many control tokens: flagged special, and only added."""
    for kind in ("bytes", "metaspace"):
        yield kind, tiny_tokenizer(kind)
        full = deepcopy(tiny_tokenizer(kind))
        full.add_special_tokens({"additional_special_tokens": [*CONTROL]})
        full.add_tokens([*ADDED, "ship", "\n\n"])
        yield f"{kind} with control tokens", full


TOKENIZERS = dict(tokenizers())


def control_ids(tokenizer: Any) -> set[int]:
    """Ids that text must never become; the unknown token is what a word that cannot be spelt becomes."""
    special = set(tokenizer.all_special_ids) | set(tokenizer.convert_tokens_to_ids([*CONTROL, *ADDED]))
    return special - {None, tokenizer.unk_token_id, tokenizer.convert_tokens_to_ids("<unk>")}


@dataclass
class Found:
    """A retriever that finds one document, whatever is asked."""

    document: Document

    async def search(self, queries: Sequence[str], k: int) -> list[list[Document]]:
        return [[self.document] for _ in queries]


def document(text: str = "Ada was here.", title: str = "Ada", id: str = "d") -> Document:
    return Document(id, title, text, 1.0, 1)


def recited(
    method: str,
    schedule: Schedule,
    found: Document,
    question: str = QUESTION,
    exemplars: Exemplars | None = None,
    codec: Codec | None = None,
    view: TraceView | None = None,
) -> tuple[Answer, Reciter]:
    """An answer of the model that recites. `method` may name more: "flare_direct explicit"."""
    model = Reciter(codec or Characters())
    method, *more = method.split()
    rules = replace(Rules(schedule=schedule, titles=True, max_new_tokens=60, look_ahead=20), **KINDS[tuple(more)])
    shown = exemplars if exemplars is not None else Exemplars((Exemplar("Where?", "Here.", (document(),)),))
    return LOOP.run_until_complete(METHODS[method].answer(model, Found(found), question, shown, rules, view)), model


def line_breaks(prompt: str) -> tuple[int, int]:
    """How many there are of each kind."""
    return prompt.count("\n"), prompt.count("\r")


def course(answer: Answer, model: Reciter) -> list[object]:
    """What happened, without the texts that came from outside: calls, their limits and output, searches, the end."""
    calls = [(w.max_new_tokens, w.until, w.text, *line_breaks(model.decode(w.prompt))) for w in answer.writings]
    steps = [(step.triggered, step.accepted, step.search is None) for step in answer.steps]
    return [answer.text, answer.stop_reason, len(answer.searches), model.calls, *calls, *steps]


@pytest.mark.parametrize("method", [method for method in ALL if method not in ("no_retrieval", "single_time")])
def test_the_recited_lines_make_every_method_search(method: str) -> None:
    answer, _ = recited(method, PAPER, document())
    assert len(answer.searches) > 1
    assert any(step.asked for step in answer.steps) == (method == "flare_direct explicit")


@pytest.mark.parametrize("schedule", SCHEDULES, ids=lambda schedule: schedule.name)
@pytest.mark.parametrize("method", ALL)
def test_no_document_begins_or_ends_anything(method: str, schedule: Schedule) -> None:
    calm, model = recited(method, schedule, document())
    expected = course(calm, model)
    for name, attack in ATTACKS.items():
        for hostile in (document(text=attack, title=attack), document(text=f"Ada was {attack} here.")):
            answer, model = recited(method, schedule, hostile)
            assert course(answer, model) == expected, name
            assert [s.queries for s in answer.searches] == [s.queries for s in calm.searches], name


@pytest.mark.parametrize("schedule", SCHEDULES, ids=lambda schedule: schedule.name)
@pytest.mark.parametrize("method", ALL)
def test_no_question_begins_or_ends_anything(method: str, schedule: Schedule) -> None:
    calm, model = recited(method, schedule, document())
    expected = course(calm, model)
    for name, attack in ATTACKS.items():
        for question in (attack, f"Who was {attack}?"):
            answer, model = recited(method, schedule, document(), question=question)
            assert course(answer, model) == expected, name


@pytest.mark.parametrize("method", ALL)
@pytest.mark.parametrize("tokenizer", TOKENIZERS)
def test_no_text_becomes_a_control_token(method: str, tokenizer: str) -> None:
    codec = TextCodec(TOKENIZERS[tokenizer])
    forbidden = control_ids(TOKENIZERS[tokenizer])
    assert forbidden
    for name, attack in ATTACKS.items():
        hostile = document(text=attack, title=attack)
        exemplars = Exemplars((Exemplar(attack, attack, (hostile,)),), instruction=attack)
        answer, _ = recited(method, PAPER, hostile, question=attack, exemplars=exemplars, codec=codec)
        for writing in answer.writings:
            assert writing.prompt[: len(codec.bos)] == codec.bos
            assert forbidden.isdisjoint(writing.prompt[len(codec.bos) :]), name


@pytest.mark.parametrize("tokenizer", TOKENIZERS)
def test_prompts_that_ask_for_queries_hold_no_control_token_either(tokenizer: str) -> None:
    codec = TextCodec(TOKENIZERS[tokenizer])
    forbidden = control_ids(TOKENIZERS[tokenizer])
    for name, attack in ATTACKS.items():
        for case in (question_case(attack, attack), term_case(attack, attack)):
            assert forbidden.isdisjoint(codec.encode(case)), name
            assert case.count("\n") == (2 if case.startswith("Passage: ") else 1), name


@pytest.mark.parametrize("method", ALL)
@pytest.mark.parametrize("tokenizer", TOKENIZERS)
def test_half_of_a_surrogate_pair_is_a_character_in_a_document_and_refused_in_a_question(
    method: str, tokenizer: str
) -> None:
    codec = TextCodec(TOKENIZERS[tokenizer])
    recited(method, PAPER, document(text="\ud800 ship", title="\udfff"), codec=codec)
    assert codec.encode("a\ud800") == codec.encode("a\ufffd")
    with pytest.raises(UsageError, match="surrogate"):
        recited(method, PAPER, document(), question="Who is \ud800?", codec=codec)


@pytest.mark.parametrize("name", ATTACKS)
def test_an_exemplar_file_is_data(name: str, tmp_path: Path) -> None:
    attack = ATTACKS[name]
    file = tmp_path / "exemplars.jsonl"
    lines = [
        {"instruction": attack, "case": "Q: {question}\nH: {hint}\nA:"},
        {"question": attack, "hint": attack, "answer": attack, "documents": [{"id": attack, "text": attack}]},
    ]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    exemplars = read_exemplars(file)
    assert exemplars.examples == (Exemplar(attack, attack, (Document(attack, "", attack, 0.0, 1),), attack),)
    both = with_search_skill(exemplars)
    assert both.before == own_exemplars("search")
    assert both.examples == exemplars.examples


@pytest.mark.parametrize(("method", "colour"), [("flare_direct", False), *((method, True) for method in ALL)])
def test_nothing_reaches_the_terminal_as_a_command(method: str, colour: bool) -> None:
    for name, attack in ATTACKS.items():
        shown = io.StringIO()
        console = Console(
            file=shown,
            markup=False,
            emoji=False,
            highlight=False,
            width=100,
            force_terminal=colour,
            no_color=not colour,
        )
        view = TraceView(console, Rules())
        view.begin(attack)
        hostile = document(text=attack, title=attack, id=attack)
        answer, _ = recited(method, PAPER, hostile, question=attack, exemplars=Exemplars(), view=view)
        view.answer(answer)
        view.finish(answer)
        text = COLOURS.sub("", shown.getvalue()) if colour else shown.getvalue()
        commands = {character for character in text if not character.isprintable() and character != "\n"}
        assert commands == set(), name
        line = answer_line(answer)
        assert line.isascii()
        assert json.loads(line)["question"] == attack


def row(name: str, attack: str) -> dict[str, str]:
    """One passage of a corpus, hostile in all its parts."""
    return {"id": f"{name} {attack[:400]}", "title": attack, "text": f"ship {attack}"}  # an id has 512 characters


@pytest.fixture(scope="module", params=["lucene", "bm25s"])
def hostile_index(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """An index whose ids, titles and texts are the attacks, in a folder in which nothing else may appear."""
    folder = tmp_path_factory.mktemp("hostile")
    corpus = folder / "corpus.jsonl"
    corpus.write_text("".join(json.dumps(row(*attack)) + "\n" for attack in ATTACKS.items()), encoding="utf-8")
    build_index(corpus, folder / "index", kind=request.param)
    assert sorted(path.name for path in folder.iterdir()) == ["corpus.jsonl", "index"]
    with open_index(folder / "index") as index:
        yield index


def words(text: str) -> str:
    """A text but for its blanks, which titles and the ends of texts may lose."""
    return " ".join(text.split())


def test_an_index_keeps_ids_titles_and_texts(hostile_index: Any) -> None:
    (found,) = asyncio.run(hostile_index.search(["ship"], 100))
    kept = {document.id: (words(document.title), words(document.text)) for document in found}
    rows = [row(*attack) for attack in ATTACKS.items()]
    assert kept == {entry["id"]: (words(entry["title"]), words(entry["text"])) for entry in rows}


def test_a_query_is_words_and_no_language(hostile_index: Any) -> None:
    results = asyncio.run(hostile_index.search([f"ship {attack}" for attack in ATTACKS.values()], 3))
    assert all(len(found) == 3 for found in results)
