"""Answers of a run judged, from their lines in results.jsonl to figures."""

import json
from math import isnan
from pathlib import Path

import pytest

from flare_local.datasets.item import Aspect, Item, Reading
from flare_local.errors import ModelError, RunFault, UsageError
from flare_local.metrics.entities import Entities
from flare_local.metrics.judge import is_right, judge
from flare_local.metrics.judges import Judges, open_judges
from flare_local.metrics.measures import OF_TASK, measures_of
from flare_local.metrics.prediction import Prediction, read_prediction, read_predictions
from flare_local.metrics.qa_model import QaModel
from flare_local.metrics.rouge import Rouge
from flare_local.metrics.scores import Scores, calibration, differences, score
from flare_local.policies.flare_direct import flare_direct
from flare_local.trace.json import answer_object
from tests.metrics import tiny_judges
from tests.policies.scripted import ScriptedRetriever, ask, says

SUND = Item("1", "Where?", 1, answers=("Sund", "Old Sund"), supporting_ids=("d-Sund is old.", "d-x"))
BRIDGES = Item(
    "1",
    "When?",
    1,
    readings=(Reading("when was the old bridge opened ?", ("1904",)), Reading("when was it ?", ("1960",))),
    long_answers=("The old bridge was opened in 1904, the new one in 1960.", "There are two bridges."),
)
SCHOOL = Item("1", "Summary?", 1, aspects=(Aspect("history", "The school was founded in Sund."),))


def line(id: str = "1") -> dict[str, object]:
    """A line of results.jsonl: two sentences, the second searched for."""
    answer, _ = ask(
        flare_direct,
        [
            says(" She", 0.9, " came.", 0.95),
            says(" The", 0.9, " x.", 0.1),
            says(" The answer is", 0.5, " Sund.", 0.6, stop="eos"),
        ],
        ScriptedRetriever(default=["Sund is old."]),
    )
    return {"id": id, "run": "r", **answer_object(answer)}


def test_a_line_of_results_says_what_an_answer_is_and_cost() -> None:
    found = read_prediction(line())
    assert found.text == "She came. The answer is Sund."
    assert (found.sentences, found.triggered, found.searched, found.calls) == (2, 1, 1, 3)
    assert found.tokens == 4
    assert found.probabilities == (0.9, 0.95, 0.5, 0.6)
    assert [[document.id for document in documents] for documents in found.searches][-1] == ["d-Sund is old."]


def test_a_short_answer_is_judged() -> None:
    values = score("2wiki", [SUND], [read_prediction(line())], Judges(), k=2).values["1"]
    assert (values["em"], values["f1"], values["wrong_format"]) == (1.0, 1.0, 0.0)
    assert values["support"] == 0.5
    assert values["calls"] == 3.0


def test_a_wrong_format_is_wrong_and_said() -> None:
    values = judge("2wiki", SUND, Prediction("1", "Sund."), Judges())
    assert (values["em"], values["f1"], values["precision"], values["recall"]) == (0.0, 0.0, 0.0, 0.0)
    assert values["wrong_format"] == 1.0


YES_NO = [
    ("So the final answer is yes.", "yes", 1, 0),
    ("So the final answer is no.", "yes", 0, 0),
    ("So the final answer is no.", "no", 1, 0),
    ("So the final answer is yes.", "no", 0, 0),
    ("So the final answer is yes", "yes", 0, 1),
    ("Yes.", "yes", 0, 1),
    ("", "no", 0, 1),
    ("It is. So the answer is yes. More.", "yes", 1, 0),
    ("the answer is maybe.", "no", 0, 1),
    ("So the answer is Yes.", "yes", 0, 1),
    ("a\n\nthe answer is yes.", "yes", 0, 1),
    ("the answer is no.\nthe answer is yes.", "no", 1, 0),
]


@pytest.mark.parametrize(("text", "gold", "right", "wrong_format"), YES_NO)
def test_yes_or_no_is_judged(text: str, gold: str, right: int, wrong_format: int) -> None:
    item = Item("1", "Is it?", 1, answers=(gold,))
    values = judge("strategyqa", item, Prediction("1", text), Judges())
    assert (values["em"], values["wrong_format"]) == (right, wrong_format)


def test_readings_are_judged_with_a_qa_model() -> None:
    judges = Judges(Rouge(), QaModel(tiny_judges.qa_model(), tiny_judges.word_tokenizer()))
    text = "this question has 2 interpretations and the answers are: the old bridge opened in 1904 . it is new 1960 ."
    values = judge("asqa", BRIDGES, Prediction("1", text), judges)
    assert values["em"] == 1.0
    assert values["wrong_format"] == 0.0
    assert 0.0 <= values["disambig_f1"] <= 1.0
    assert 0.0 < values["rouge_l"] < 1.0


def test_summaries_are_judged() -> None:
    judges = Judges(Rouge(), entities=Entities(lambda text: [w for w in text.split() if w[:1].isupper()]))
    values = judge("wikiasp", SCHOOL, Prediction("1", "# History\nThe school was founded in Sund.\n\nmore"), judges)
    assert values["rouge_l"] == 1.0
    assert values["entity_f1"] == 1.0
    assert "unieval" not in values


def test_own_questions_are_right_where_an_answer_is_contained() -> None:
    values = judge("open", SUND, Prediction("1", "It was in old Sund, they say."), Judges())
    assert values["contains"] == is_right("open", values) == 1.0


def test_a_column_says_why_it_is_empty() -> None:
    judges = open_judges("asqa")
    columns = {c.measure.name: c for c in score("asqa", [BRIDGES], [Prediction("1", "1904")], judges).columns()}
    assert columns["em"].value == 0.5
    assert columns["disambig_f1"].value is None
    assert "--qa-model" in columns["disambig_f1"].why
    assert "--qa-model" in columns["dr"].why
    assert columns["trigger_rate"].why == "nothing to divide by."
    assert columns["support"].why == "no search found anything."
    assert json.dumps([column.as_dict() for column in columns.values()], allow_nan=False)
    columns = {c.measure.name: c for c in score("wikiasp", [SCHOOL], [], open_judges("wikiasp")).columns()}
    assert "--unieval-model" in columns["unieval"].why


def test_what_was_named_and_cannot_be_opened_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError):
        open_judges("asqa", qa_model=tmp_path / "none")
    with pytest.raises(ModelError):
        open_judges("wikiasp", unieval_model=tmp_path / "none")
    with pytest.raises(UsageError):
        open_judges("wikiasp", spacy_model="no_such_model")


def test_rouge_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "rouge_score", None)
    assert "flare-local[eval]" in open_judges("asqa").why["rouge_l"]


def runs() -> tuple[Scores, Scores]:
    items = [Item(str(number), "Where?", number, answers=("Sund",)) for number in range(40)]
    good, bad = "the answer is Sund.", "the answer is Gora."
    first = [Prediction(item.id, good if item.line % 4 else bad, sentences=2, triggered=1) for item in items]
    second = [Prediction(item.id, bad if item.line % 4 else good, sentences=1, triggered=1) for item in items[:30]]
    return score("2wiki", items, first, Judges()), score("2wiki", items, second, Judges())


def test_figures_have_intervals() -> None:
    first, _ = runs()
    columns = {column.measure.name: column for column in first.columns(resamples=2000)}
    em = columns["em"]
    assert (em.value, em.questions) == (0.75, 40)
    assert em.interval is not None
    assert em.interval.low < 0.75 < em.interval.high
    assert columns["trigger_rate"].value == 0.5
    assert first.columns(resamples=500) == first.columns(resamples=500)


def test_runs_are_compared_on_the_questions_that_both_have() -> None:
    first, second = runs()
    found = differences(first, second)
    assert found["em"].questions == 30
    assert found["em"].difference == pytest.approx(22 / 30 - 8 / 30)
    assert (found["em"].better, found["em"].worse) == (22, 8)
    assert found["em"].p_sign == pytest.approx(0.0161, abs=1e-4)
    assert found["trigger_rate"].difference == pytest.approx(-0.5)
    assert isnan(found["trigger_rate"].p_sign)
    assert "support" not in found


def test_what_was_judged_before_is_not_judged_again() -> None:
    prediction = read_prediction(line())
    before = {"1": {"em": 0.25, "calls": 7.0}}
    found = score("2wiki", [SUND], [prediction], Judges(), judged=before)
    assert found.values["1"]["em"] == 0.25
    assert found.values["1"]["support"] == 0.5  # of the whole run: found anew
    assert "support" not in before["1"]


def test_calibration_of_a_run() -> None:
    predictions = [
        Prediction("1", "the answer is Sund.", probabilities=(0.95, 0.85)),
        Prediction("2", "the answer is Gora.", probabilities=(0.35,)),
    ]
    items = [SUND, Item("2", "Where?", 2, answers=("Sund",))]
    found = calibration(score("2wiki", items, predictions, Judges()), predictions)
    assert [(each.low, each.right) for each in found["tokens"].bins if each.count] == [
        (0.3, 0.0),
        (0.8, 1.0),
        (0.9, 1.0),
    ]
    assert found["lowest"].count == 2


def test_every_figure_is_made_of_values_that_exist() -> None:
    known = {"unieval", "disambig_f1", "rouge_l", "entity_f1", "entity_precision", "entity_recall"}
    items = {"asqa": BRIDGES, "asqa-hint": BRIDGES, "wikiasp": SCHOOL}
    for task in OF_TASK:
        item = items.get(task, SUND)
        values = score(task, [item], [read_prediction(line())], Judges()).values["1"]
        wanted = {name for measure in measures_of(task) for name in measure.of}
        assert wanted - values.keys() <= known | {"support", "support_at_k", "ndcg_at_k"}, task


def test_results_are_read_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    path.write_text("".join(json.dumps(line(id)) + "\n" for id in "12") + '{"torn')
    assert [each.id for each in read_predictions(path)] == ["1", "2"]
    path.write_text(json.dumps({"id": "1", "answer": "x"}) + "\n")
    with pytest.raises(RunFault, match="question 1"):
        read_predictions(path)
    with pytest.raises(UsageError, match="does not exist"):
        read_predictions(tmp_path / "none.jsonl")


def test_the_program_of_the_page_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (Path(__file__).parents[2] / "docs" / "metrics.md").read_text(encoding="utf-8")
    program = page.split("```python\n")[1].split("```")[0]
    rows = [{"id": number, "question": "Where?", "answer": "Sund"} for number in (1, 2)]
    (tmp_path / "dev.json").write_text(json.dumps(rows))
    for name in ("flare", "single"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "results.jsonl").write_text("".join(json.dumps(line(id)) + "\n" for id in "12"))
    monkeypatch.chdir(tmp_path)
    exec(program, {})
    assert "EM 1.0 Interval(low=0.158" in capsys.readouterr().out
