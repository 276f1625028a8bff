"""The committed town: what the generator gives, consistent, and every question has one answer that can be found."""

import json
import re
from collections import Counter
from dataclasses import replace

import pytest

from flare_local.embedded import embedded_exemplars
from flare_local.embedded.index import PASSAGES
from flare_local.embedded.questions import GROUPS, SHOWN, final_answer, is_right, read_questions
from flare_local.embedded.world import FOLDER, files, make_world
from flare_local.tasks.exemplars import read_exemplars

WORLD = make_world()
QUESTIONS = read_questions()
TEXTS = {row["id"]: row for row in map(json.loads, PASSAGES.read_text(encoding="utf-8").splitlines())}


@pytest.mark.parametrize("name", files())
def test_committed_files_are_what_the_generator_gives(name: str) -> None:
    assert (FOLDER / name).read_text(encoding="utf-8") == files()[name]


def test_there_are_at_least_300_short_passages_of_two_sentences() -> None:
    assert len(TEXTS) >= 300
    for row in TEXTS.values():
        assert len(re.findall(r"\.(?: |$)", row["text"])) == 2, row
        assert len(row["text"].split()) <= 30, row


def test_names_are_unique() -> None:
    for names in (
        [row["title"] for row in TEXTS.values()],
        [person.name for person in WORLD.people],
        [person.name.split()[-1] for person in WORLD.people],
        [question.question for question in QUESTIONS],
    ):
        assert Counter(names).most_common(1)[0][1] == 1


def test_every_maker_and_every_place_that_is_named_has_a_passage_of_its_own() -> None:
    people, titles = set(WORLD.people), {row["title"] for row in TEXTS.values()}
    assert {work.maker for work in WORLD.works} <= people
    assert {person.town for person in people} <= titles
    assert {building.title for _, _, building in WORLD.clubs} | {bridge.title for *_, bridge in WORLD.streets} <= titles


def test_years_of_birth_are_unique_so_that_one_of_two_people_was_born_first() -> None:
    assert len({person.year for person in WORLD.people}) == len(WORLD.people)


def test_forty_questions_are_of_the_exemplars_kind_and_twenty_of_others() -> None:
    assert Counter(question.group for question in QUESTIONS) == {"two-hop": 40, "other": 20}
    assert list(GROUPS) == ["two-hop", "other"]
    assert set(SHOWN) <= {question.id for question in QUESTIONS if question.group == "two-hop"}


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.id)
def test_the_supporting_passages_hold_the_answer(question) -> None:
    texts = [TEXTS[id]["text"] for id in question.supporting_ids]
    assert any(question.answer in text for text in texts)
    if question.group == "two-hop":  # the first passage leads to the second, and only the second has the answer
        assert question.answer not in texts[0]
        assert TEXTS[question.supporting_ids[1]]["title"] in texts[0]


def test_a_two_hop_question_has_no_second_answer() -> None:
    for question in QUESTIONS[:40]:
        title = TEXTS[question.supporting_ids[0]]["title"]
        assert [row["id"] for row in TEXTS.values() if row["title"] == title] == [question.supporting_ids[0]]


def test_exemplars_share_no_name_with_the_town() -> None:
    exemplars = read_exemplars(embedded_exemplars()).examples
    known = {row["title"] for row in TEXTS.values()} | {word for p in WORLD.people for word in p.name.split()}
    assert len(exemplars) == 4
    for exemplar in exemplars:
        assert not {document.title for document in exemplar.documents} & known
        assert not set(exemplar.documents[1].title.split()) & known
        assert "Marrowfen" not in exemplar.answer + "".join(document.text for document in exemplar.documents)


@pytest.mark.parametrize(
    "exemplar", read_exemplars(embedded_exemplars()).examples, ids=lambda exemplar: exemplar.question
)
def test_exemplars_answer_from_their_own_documents(exemplar) -> None:
    assert len(exemplar.documents) == 2
    assert final_answer(exemplar.answer) in exemplar.documents[1].text
    assert exemplar.documents[1].title in exemplar.documents[0].text


@pytest.mark.parametrize(
    ("text", "final"),
    [
        ("He was born in 1701. So the answer is 1701.", "1701"),
        ("So the answer is: Low Orrin", "Low Orrin"),
        ("So the answer is 1701", "1701"),
        ("He was born in 1701.", ""),
        ("", ""),
    ],
)
def test_the_final_answer_is_read_from_the_text(text: str, final: str) -> None:
    assert final_answer(text) == final


def test_an_answer_is_right_only_if_it_is_the_whole_answer() -> None:
    question = replace(QUESTIONS[0], answer="Low Orrin")
    assert is_right("So the answer is low  Orrin.", question)
    assert not is_right("So the answer is Orrin.", question)
    assert not is_right("Low Orrin.", question)
