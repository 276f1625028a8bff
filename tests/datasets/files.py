"""Small files in the shapes in which datasets are released. Their contents are invented."""

import json
from pathlib import Path
from typing import Any

MULTIHOP: list[dict[str, Any]] = [
    {
        "_id": "aa01",
        "type": "compositional",
        "question": "Where was the builder of Tarrow Bridge born?",
        "context": [["Tarrow Bridge", ["It was built by Ilma Hale."]], ["Ilma Hale", ["She was born in Sund."]]],
        "entity_ids": "Q11_Q12",
        "supporting_facts": [["Tarrow Bridge", 0], ["Ilma Hale", 0], ["Ilma Hale", 1]],
        "evidences": [["Tarrow Bridge", "builder", "Ilma Hale"]],
        "answer": "Sund",
        "evidences_id": [["Q11", "P1", "Q12"]],
        "answer_id": "Q13",
    },
    {
        "_id": "aa02",
        "type": "comparison",
        "question": "Is Sund older than Gora?",
        "context": [["Sund", ["Founded in 1200."]], ["Gora", ["Founded in 1300."]]],
        "supporting_facts": [["Sund", 0], ["Gora", 0]],
        "evidences": [],
        "answer": "yes",
        "answer_id": None,
    },
]
ALIASES = [
    {"Q_id": "Q13", "aliases": ["Sund town", "Old Sund"], "demonyms": ["Sunder"]},
    {"Q_id": "Q99", "aliases": ["nobody"], "demonyms": []},
]
STRATEGYQA: list[dict[str, Any]] = [
    {
        "qid": "b1",
        "term": "Ferry",
        "description": "A boat",
        "question": "Could the ferry of Gora carry a house?",
        "answer": False,
        "facts": ["The ferry carries ten people."],
        "decomposition": ["How much does the ferry carry?", "Is #1 more than a house?"],
        "evidence": [[[["Ferry-2"], "operation"], ["no_evidence"]], [[["Ferry-2", "House-1"]], ["operation"]]],
    }
]
BIGBENCH = {
    "canary": "invented",
    "name": "strategyqa",
    "examples": [
        {"input": "Is the sea wet?", "target_scores": {"Yes": 1, "No": 0}, "target": "Yes. Water is wet."},
        {"input": "Is a bell soft?", "target_scores": {"Yes": 0, "No": 1}, "target": "No. Bells are metal."},
    ],
}
ASQA: dict[str, Any] = {
    "train": {"9": {"ambiguous_question": "Not asked?", "qa_pairs": [], "annotations": []}},
    "dev": {
        "-17": {
            "ambiguous_question": "When was the bridge opened?",
            "qa_pairs": [
                {
                    "context": "No context provided",
                    "question": "When was the old bridge opened?",
                    "short_answers": ["1904", "May 1904"],
                    "wikipage": None,
                },
                {
                    "context": "It opened in 1960.",
                    "question": "When was the new bridge opened?",
                    "short_answers": ["1960"],
                    "wikipage": "New Bridge",
                },
            ],
            "wikipages": [{"title": "New Bridge", "url": "invented"}],
            "annotations": [
                {
                    "knowledge": [{"content": "It opened in 1904.", "wikipage": "Old Bridge"}],
                    "long_answer": "The old bridge was opened in 1904, the new one in 1960.",
                },
                {"knowledge": [], "long_answer": "There are two bridges, of 1904 and 1960."},
            ],
        }
    },
}
WIKIASP: list[dict[str, Any]] = [
    {
        "exid": "test-3-7",
        "inputs": ["Some reference .", "Another ."],
        "targets": [
            ["history", "The school was\nfounded in 1900 ."],
            ["sports", " "],
            ["staff", "It has ten teachers ."],
        ],
    }
]


def as_json(path: Path, value: object, **options: Any) -> Path:
    path.write_text(json.dumps(value, **options), encoding="utf-8")
    return path


def as_lines(path: Path, values: list[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(value) + "\n" for value in values), encoding="utf-8")
    return path


def beir(folder: Path) -> Path:
    """A folder as FLARE's authors released theirs."""
    metadata = {"answer": "Sund", "answer_id": "Q13", "ctxs": [["d1", "It was built."]]}
    as_lines(folder / "queries.jsonl", [{"_id": "q1", "text": "Where was she born?", "metadata": metadata}])
    as_lines(folder / "corpus.jsonl", [{"_id": "d1", "title": "Tarrow Bridge", "text": "It was built."}])
    (folder / "qrels").mkdir()
    (folder / "qrels" / "dev.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\nq1\td2\t0\nq1\td1\t1\n")
    return folder


def arrow(folder: Path, rows: list[dict[str, Any]]) -> Path:
    """A folder as `datasets.Dataset.save_to_disk` writes it."""
    import pyarrow

    folder.mkdir()
    table = pyarrow.Table.from_pylist(rows)
    path = folder / "data-00000-of-00001.arrow"
    with pyarrow.OSFile(str(path), "wb") as sink, pyarrow.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    as_json(folder / "state.json", {"_data_files": [{"filename": "data-00000-of-00001.arrow"}]})
    return folder
