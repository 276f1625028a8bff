"""The models that judge: read-offs of a QA model, yes or no of a T5, entities."""

import random
from fractions import Fraction as F
from pathlib import Path

import pytest
import torch

from flare_local.errors import ModelError, UsageError
from flare_local.metrics.consistency import Consistency
from flare_local.metrics.entities import Entities
from flare_local.metrics.qa_model import QaModel
from tests.metrics import tiny_judges

QUESTION = "when was the old bridge opened ?"


def read_off(model: object, question: str, text: str, most: int, stride: int) -> str:
    """What SQuAD 2.0's rule reads off, straight from its definition, one window at a time."""
    tokenizer = tiny_judges.word_tokenizer()
    asked = tokenizer(question, add_special_tokens=False)["input_ids"]
    inner = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
    room = most - len(asked) - 3
    spans, nothing = [], []
    begin = 0
    while True:
        part = inner["input_ids"][begin : begin + room]
        ids = [2, *asked, 3, *part, 3]
        out = model(input_ids=torch.tensor([ids]))  # type: ignore[operator]
        first = len(asked) + 2
        starts, ends = out.start_logits[0].tolist(), out.end_logits[0].tolist()
        nothing.append(starts[0] + ends[0])
        best_starts = sorted(range(len(ids)), key=lambda at: -starts[at])[:20]
        best_ends = sorted(range(len(ids)), key=lambda at: -ends[at])[:20]
        for left in best_starts:
            for right in best_ends:
                if first <= left <= right < first + len(part) and right - left < 30:
                    places = inner["offset_mapping"]
                    span = text[places[begin + left - first][0] : places[begin + right - first][1]]
                    spans.append((starts[left] + ends[right], span))
        if begin + room >= len(inner["input_ids"]):
            break
        begin += room - stride
    score, span = max(spans)
    return span if score >= min(nothing) else ""


def random_text(seed: int, words: int) -> str:
    return " ".join(random.Random(seed).choices(tiny_judges.WORDS.split()[:14], k=words)) + " ."


def test_read_offs_are_those_of_the_definition() -> None:
    found = []
    for seed in range(12):
        model = tiny_judges.Doubtful(tiny_judges.qa_model(seed=seed), doubt=6.0 * (seed % 2))
        text = random_text(seed, 20 + 10 * seed)
        with torch.inference_mode():
            expected = read_off(model, QUESTION, text, most=62, stride=15)
        assert QaModel(model, tiny_judges.word_tokenizer()).answers([QUESTION], text) == [expected]
        found.append(expected)
    assert any(found)
    assert not all(found)


def test_an_empty_text_answers_nothing() -> None:
    judge = QaModel(tiny_judges.qa_model(), tiny_judges.word_tokenizer())
    assert judge.answers([QUESTION, QUESTION], " ") == ["", ""]


def test_a_qa_model_is_a_folder(tmp_path: Path) -> None:
    tiny_judges.qa_model().save_pretrained(tmp_path / "qa")
    tiny_judges.word_tokenizer().save_pretrained(tmp_path / "qa")
    text = random_text(1, 30)
    fresh = QaModel(tiny_judges.qa_model(), tiny_judges.word_tokenizer())
    assert QaModel.load(tmp_path / "qa").answers([QUESTION], text) == fresh.answers([QUESTION], text)


def test_a_folder_without_a_qa_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="not a folder"):
        QaModel.load(tmp_path / "none")
    with pytest.raises(ModelError, match="cannot be loaded"):
        QaModel.load(tmp_path)
    tiny_judges.t5_model().save_pretrained(tmp_path / "t5")
    with pytest.raises(ModelError, match="no QA model"):
        QaModel.load(tmp_path / "t5")
    with pytest.raises(ModelError, match="not a folder"):
        Consistency.load(tmp_path / "none")
    with pytest.raises(ModelError, match="cannot be loaded"):
        Consistency.load(tmp_path)


def test_consistency_is_the_share_of_yes_over_sentences(tmp_path: Path) -> None:
    model, tokenizer = tiny_judges.t5_model(), tiny_judges.t5_tokenizer()
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    yes, no = tokenizer("Yes")["input_ids"][0], tokenizer("No")["input_ids"][0]
    claims = ["The old bridge is new.", "It opened in 1904.", "Anna Borg opened it in may."]
    each = []
    for claim in claims:
        asked = f"question: Is this claim consistent with the document? </s> claim: {claim} </s> document: it is old"
        ids = tokenizer(asked, return_tensors="pt")["input_ids"]
        with torch.inference_mode():
            chances = (
                model(input_ids=ids, decoder_input_ids=torch.zeros(1, 1, dtype=torch.long)).logits[0, 0].softmax(-1)
            )
        each.append(float(chances[yes] / (chances[yes] + chances[no])))
    assert max(each) - min(each) > 0.001
    loaded = Consistency.load(tmp_path)
    assert loaded.score(" ".join(claims), "it is old") == pytest.approx(sum(each) / 3, abs=1e-5)
    assert loaded.score(" ".join(claims * 4), "it is old") == pytest.approx(sum(each) / 3, abs=1e-5)
    assert loaded.score("", "it is old") == 0.0


CAPITALS = Entities(lambda text: [word for word in text.split() if word[:1].isupper()])

# prediction, reference, F1, precision, recall of words with a capital
ENTITIES = [
    ("Sund", "Sund", F(1), F(1), F(1)),
    ("Sund", "Gora", F(0), F(0), F(0)),
    ("Sund and Gora", "Sund", F(2, 3), F(1, 2), F(1)),
    ("Sund", "Sund and Gora", F(2, 3), F(1), F(1, 2)),
    ("Sund Sund", "Sund", F(2, 3), F(1, 2), F(1)),
    ("Sund.", "Sund", F(1), F(1), F(1)),
    ("nothing", "nothing", F(1), F(1), F(1)),
    ("nothing", "Sund", F(0), F(1), F(0)),
    ("Sund", "nothing", F(0), F(0), F(1)),
    ("", "Sund", F(0), F(1), F(0)),
    ("Sund SUND", "Sund Sund", F(1), F(1), F(1)),
    ("Anna Borg Sund", "Borg Sund Gora Hale", F(4, 7), F(2, 3), F(1, 2)),
]


@pytest.mark.parametrize(("predicted", "reference", "f1", "precision", "recall"), ENTITIES)
def test_entities_shared(predicted: str, reference: str, f1: F, precision: F, recall: F) -> None:
    found = CAPITALS.overlap(predicted, reference)
    assert (found.f1, found.precision, found.recall) == pytest.approx((float(f1), float(precision), float(recall)))


def test_a_spacy_model_that_is_not_there_is_named() -> None:
    with pytest.raises(UsageError, match="spaCy"):
        Entities.load("no_such_model")
