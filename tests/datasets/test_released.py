"""Every file as its authors released it becomes items."""

from pathlib import Path

import pytest

from flare_local.datasets.item import Aspect, Item, Reading
from flare_local.datasets.read import Dataset, load_items, read_dataset
from flare_local.datasets.subset import authors_subset, chosen
from flare_local.errors import UsageError
from tests.datasets import files


def only(dataset: Dataset) -> Item:
    assert dataset.faults == ()
    assert len(dataset.items) == 1
    return dataset.items[0]


@pytest.mark.parametrize("indent", [None, 1])
def test_2wiki_with_the_aliases_beside_it(tmp_path: Path, indent: int | None) -> None:
    path = files.as_json(tmp_path / "dev.json", files.MULTIHOP, indent=indent)
    files.as_lines(tmp_path / "id_aliases.json", files.ALIASES)
    first, second = load_items(path, "2wiki").items
    assert first.answers == ("Sund", "Sund town", "Old Sund")  # demonyms are not aliases
    assert first.supporting_titles == ("Tarrow Bridge", "Ilma Hale")
    assert second.answers == ("yes",)
    before_second = path.read_text().split('"aa02"')[0].rstrip().removesuffix('"_id":').rstrip().removesuffix("{")
    assert (first.line, second.line) == ((1, 1) if indent is None else (2, before_second.count("\n") + 1))


def test_2wiki_without_aliases_says_so(tmp_path: Path) -> None:
    read = read_dataset(files.as_json(tmp_path / "dev.json", files.MULTIHOP), "2wiki")
    assert read.items[0].answers == ("Sund",)
    assert any("id_aliases.json" in text for text in read.missing)


def test_hotpotqa(tmp_path: Path) -> None:
    read = read_dataset(files.as_json(tmp_path / "hotpot_dev_distractor_v1.json", files.MULTIHOP), "hotpotqa")
    assert [item.id for item in read.items] == ["aa01", "aa02"]
    assert not any("aliases" in text for text in read.missing)


def test_strategyqa_with_evidence(tmp_path: Path) -> None:
    item = only(read_dataset(files.as_json(tmp_path / "strategyqa_train.json", files.STRATEGYQA), "strategyqa"))
    assert (item.id, item.answers) == ("b1", ("no",))
    assert item.supporting_ids == ("Ferry-2", "House-1")
    assert item.supporting_titles == ("Ferry", "House")


@pytest.mark.parametrize("indent", [None, 2])
def test_strategyqa_of_bigbench(tmp_path: Path, indent: int | None) -> None:
    read = load_items(files.as_json(tmp_path / "task.json", files.BIGBENCH, indent=indent), "strategyqa")
    assert [(item.id, item.answers) for item in read.items] == [("bigbench-1", ("yes",)), ("bigbench-2", ("no",))]
    assert read.form == "BIG-bench"


@pytest.mark.parametrize("indent", [None, 4])
def test_asqa(tmp_path: Path, indent: int | None) -> None:
    item = only(read_dataset(files.as_json(tmp_path / "ASQA.json", files.ASQA, indent=indent), "asqa"))
    assert item.id == "-17"
    assert item.readings[0] == Reading("When was the old bridge opened?", ("1904", "May 1904"))
    assert len(item.long_answers) == 2
    assert item.supporting_titles == ("Old Bridge", "New Bridge")


def test_asqa_of_another_split(tmp_path: Path) -> None:
    read = read_dataset(files.as_json(tmp_path / "ASQA.json", files.ASQA), "asqa", split="train")
    assert "qa_pairs" in read.faults[0].text
    assert "has no key 'test', but train, dev" in read_dataset(read.path, "asqa", split="test").faults[0].text


def test_asqa_with_hints(tmp_path: Path) -> None:
    path = files.as_json(tmp_path / "ASQA.json", files.ASQA)
    hint = "This question is ambiguous in terms of which bridge is meant."
    for row in ({"id": "-17", "hint": hint}, {"qid": -17, "output": hint}):
        item = only(read_dataset(path, "asqa-hint", hints=files.as_lines(tmp_path / "hints.jsonl", [row])))
        assert item.question == f"When was the bridge opened? Hint: {hint}"
        assert item.hint == hint


def test_asqa_without_its_hints_is_refused(tmp_path: Path) -> None:
    path = files.as_json(tmp_path / "ASQA.json", files.ASQA)
    with pytest.raises(UsageError, match="flare-local data hints"):
        load_items(path, "asqa-hint")


def test_wikiasp_takes_its_titles_from_beside(tmp_path: Path) -> None:
    path = files.as_lines(tmp_path / "test.jsonl", files.WIKIASP)
    assert "has none" in read_dataset(path, "wikiasp").faults[0].text
    (tmp_path / "wikiasp_titles_annotated.tsv").write_text("test-3-7\tGora School\n")
    item = only(read_dataset(path, "wikiasp"))
    assert item.question == (
        "Generate a summary about Gora School including the following aspects: history, staff with one aspect per line."
    )
    assert item.aspects[0] == Aspect("history", "The school was founded in 1900 .")
    assert item.summary == "# History\nThe school was founded in 1900 .\n# Staff\nIt has ten teachers ."


def test_wikiasp_of_all_domains(tmp_path: Path) -> None:
    for number, domain in enumerate(("Album", "School")):
        row = {**files.WIKIASP[0], "exid": f"test-{number}-1", "title": domain}
        files.as_lines(tmp_path / domain / "test.jsonl", [row])
    assert [item.id for item in load_items(tmp_path, "wikiasp").items] == ["test-0-1", "test-1-1"]


def test_wikiasp_as_an_arrow_folder(tmp_path: Path) -> None:
    cleaned = [["history", "The school was founded in 1900."]]
    row = {**files.WIKIASP[0], "title": "gora school", "clean_title": "Gora School", "clean_targets": cleaned}
    item = only(read_dataset(files.arrow(tmp_path / "wikiasp", [row]), "wikiasp"))
    assert "about Gora School including" in item.question
    assert item.summary == "# History\nThe school was founded in 1900."


def test_a_beir_folder(tmp_path: Path) -> None:
    folder = files.beir(tmp_path / "2wiki")
    files.as_lines(folder / "id_aliases.json", files.ALIASES)
    item = only(read_dataset(folder, "2wiki"))
    assert item.answers == ("Sund", "Sund town", "Old Sund")
    assert item.supporting_ids == ("d1",)  # scores of 0 and repeats are no support
    (folder / "qrels" / "dev.tsv").unlink()
    assert any("qrels" in text for text in read_dataset(folder, "2wiki").missing)


def test_simple_questions(tmp_path: Path) -> None:
    rows = [
        {"question": "Who?", "answers": ["Anna", "Anna Borg"], "supporting_ids": ["a", "a", "b"], "more": [1]},
        {"id": 7, "question": "When?", "answer": "1904"},
    ]
    first, second = load_items(files.as_lines(tmp_path / "q.jsonl", rows), "open").items
    assert (first.id, first.answers, first.supporting_ids) == ("line-1", ("Anna", "Anna Borg"), ("a", "b"))
    assert (second.id, second.answers) == ("7", ("1904",))


@pytest.mark.parametrize(
    ("task", "row"),
    [
        ("strategyqa", {"answer": True}),
        ("asqa", {"qa_pairs": [{"question": "Which?", "short_answers": "1904"}], "long_answers": ["In 1904."]}),
        ("wikiasp", {"aspects": [{"name": "history", "text": "Old."}]}),
    ],
)
def test_simple_questions_of_every_task(tmp_path: Path, task: str, row: dict[str, object]) -> None:
    path = files.as_lines(tmp_path / "q.jsonl", [{"id": "1", "question": "What?", **row}])
    assert only(read_dataset(path, task)).question == "What?"


def test_a_choice_by_chance_is_the_same_again(tmp_path: Path) -> None:
    rows = [{"id": number, "question": "Who?", "answer": "x"} for number in range(50)]
    items = load_items(files.as_lines(tmp_path / "q.jsonl", rows), "open").items
    ids = [item.id for item in chosen(items, 5, 1)]
    assert ids == [item.id for item in chosen(items, 5, 1)]
    assert ids != [item.id for item in chosen(items, 5, 2)]
    assert [item.id for item in chosen(items, 3, None)] == ["0", "1", "2"]


def test_the_authors_questions_are_those_that_their_program_draws() -> None:
    datasets = pytest.importorskip("datasets")
    import numpy

    numpy.random.seed(2022)
    drawn = datasets.Dataset.from_dict({"at": list(range(948))}).shuffle()["at"][:500]
    items = [Item(str(number), "Who?", 1) for number in range(948)]
    assert [int(item.id) for item in authors_subset(items, "asqa")] == list(drawn)
    assert authors_subset(items[:229], "strategyqa") == items[:229]
    with pytest.raises(UsageError, match="948"):
        authors_subset(items[:900], "asqa")
    with pytest.raises(UsageError, match="--limit"):
        authors_subset(items, "open")
