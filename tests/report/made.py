"""Evaluations and runs made without a model, for reports: `python -m tests.report.made RUN COUNT` writes one."""

import json
import random
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from flare_local.datasets.item import Item
from flare_local.datasets.read import Dataset
from flare_local.evaluation.folder import Plan, begin
from flare_local.evaluation.judged import judge_plan
from flare_local.evaluation.row import Row
from flare_local.metrics.judges import Judges
from flare_local.runs.folder import ERRORS, RESULTS, RunFolder
from flare_local.runs.questions import Asked
from tests.hostile.attacks import ATTACKS

ROWS = (
    Row("no_retrieval", "No retrieval"),
    Row("single_time", "Single-time retrieval"),
    Row("flare_direct", "FLARE"),
    Row("flare_direct", "FLARE, beta 0", {"beta": 0.0}),
)
RIGHT = {"no_retrieval": 0.25, "single_time": 0.4, "flare_direct": 0.5}  # share of right answers
OF_PAGES = (
    "</script><script>document.title = 'owned'</script>",
    "<!-- <script> <!--",
    "--> ]]> </SCRIPT\t><svg onload=\"document.title = 'owned'\">",
    "</style><style>* { display: none }</style></title>",
    "\u2028\u2029\x00\x1b[31m\u202e</script >",
    "&lt;script&gt; &#60;script&#62; \\u003cscript\\u003e",
    "' onmouseover='document.title=1' \" onfocus=\"document.title=1\" autofocus",
    "javascript:document.title='owned'",
    "__proto__",
)  # what a page would take as markup or code
Line = dict[str, Any]


def items(count: int) -> list[Item]:
    """Questions q0, q1, ... about years."""
    return [
        Item(
            f"q{place}",
            f"In which year was the architect of hall number {place} born?",
            place + 1,
            answers=(str(1700 + place % 200), f"AD {1700 + place % 200}"),
            supporting_titles=(f"Hall {place}", f"Architect {place}"),
        )
        for place in range(count)
    ]


def evaluation(
    folder: Path,
    asked: Sequence[Item],
    rows: Sequence[Row] = ROWS,
    change: Callable[[Line], None] | None = None,
    title: str = "Invented town",
    task: str = "2wiki",
) -> Path:
    """An evaluation as `eval` leaves it; `change` may change each line of its results before it is judged."""
    dataset = Dataset(task, Path("town.jsonl"), "made", tuple(asked), (), ())
    plan = Plan(folder, title, dataset, tuple(asked), tuple(rows))
    folder.mkdir(parents=True)
    begin(plan)
    for row in rows:
        run(folder / row.name, row, asked, change)
    judge_plan(plan, Judges()).write()
    return folder


def hostile(folder: Path) -> Path:
    """An evaluation in which every text is an attack: titles, questions, gold, answers, queries, documents, tokens."""
    attacks = [*ATTACKS.values(), *OF_PAGES]
    asked = [
        Item(f"{attack} {place}", attack, place + 1, answers=(attack, attack), supporting_titles=(attack,))
        for place, attack in enumerate(attacks)
    ]

    def attacked(line: Line) -> None:
        attack = line["question"]
        line["answer"] = line["stop_reason"] = attack
        for search in filter(None, (line["search"], *line["steps"])):
            search["queries"] = [attack]
            search["documents"] = [{"id": attack, "title": attack, "score": 1.0, "rank": 1}]
        for step in line["steps"]:
            step["asked"], step["kept"] = [{"text": attack}], attack
            for text in filter(None, (step["draft"], step["sentence"])):
                text["tokens"] = [attack for _ in text["tokens"]]

    rows = [Row(row.method, OF_PAGES[0] + row.title, row.settings) for row in ROWS]
    return evaluation(folder, asked, rows, attacked, title=OF_PAGES[0])


def run(folder: Path, row: Row, asked: Sequence[Item], change: Callable[[Line], None] | None = None) -> Path:
    """A run as `batch` leaves it; every 50th question failed."""
    settings = {"method": row.method, "theta": 0.8, "beta": 0.4, "top_k": 1, **row.settings}
    with RunFolder(folder) as opened:
        opened.begin(settings, [Asked(item.id, item.question, item.line) for item in asked])
        name = opened.run
    dice = random.Random(row.name)
    answered, failed = [], []
    for place, item in enumerate(asked):
        if place % 50 == 49:
            failed.append({"id": item.id, "run": name, "question": item.question, "error": "The model was too small."})
            continue
        line = {"id": item.id, "run": name, **answer(item, row, place, dice)}
        if change is not None:
            change(line)
        answered.append(line)
    (folder / RESULTS).write_text("".join(json.dumps(line) + "\n" for line in answered))
    (folder / ERRORS).write_text("".join(json.dumps(line) + "\n" for line in failed))
    return folder


def answer(item: Item, row: Row, place: int, dice: random.Random) -> Line:
    """A line of results.jsonl: two sentences, the second looked up where the method looks things up."""
    right = dice.random() < RIGHT[row.method]
    year = item.answers[0] if right else str(1500 + place)
    first = writing(f" The architect of hall number {place} was Edwin Tarrow.", dice)
    last = writing(f" Edwin Tarrow was born in {year} in Ostrel. So the answer is {year}.", dice)
    flare = row.method == "flare_direct"
    triggered = flare and min(last["probabilities"]) < 0.8
    return {
        "question": item.question,
        "method": row.method,
        "schedule": "paper",
        "answer": (first["text"] + last["text"]).strip(),
        "stop_reason": "eos",
        "search": None if row.method == "no_retrieval" else found(item.question, f"Hall {place}"),
        "steps": [
            step(first, first if flare else None, accepted=flare),
            step(
                last,
                writing(f" Edwin Tarrow was born in {1600 + place}.", dice) if triggered else last if flare else None,
                accepted=flare and not triggered,
                triggered=triggered,
                search=found(" Edwin Tarrow was born in", f"Architect {place}") if triggered else None,
            ),
        ],
        "counters": {"calls": 4 if flare else 1, "total_ms": 1000 + 3000 * dice.random()},
        "question_counters": None,
    }


def writing(text: str, dice: random.Random) -> Line:
    """A text object: a token a word."""
    tokens = [f" {word}" for word in text.split()]
    return {
        "text": text,
        "tokens": tokens,
        "ids": list(range(len(tokens))),
        "probabilities": [min(1.0, 1.25 * dice.random() ** 0.25) for _ in tokens],
        "stop": "boundary",
        "eos_probability": None,
    }


def found(query: str, title: str) -> Line:
    """A search with two results."""
    documents = [
        {"id": f"d-{title}-{rank}", "title": name, "score": 12.5 / rank, "rank": rank}
        for rank, name in enumerate((title, "Lantern Theatre"), 1)
    ]
    return {"queries": [query], "documents": documents, "ms": 3.0}


def step(
    sentence: Line,
    draft: Line | None = None,
    accepted: bool = False,
    triggered: bool = False,
    search: Line | None = None,
) -> Line:
    """A step of an answer."""
    return {
        "draft": draft,
        "triggered": triggered,
        "accepted": accepted,
        "asked": [],
        "queries": [] if search is None else search["queries"],
        "documents": [] if search is None else search["documents"],
        "sentence": sentence,
        "kept": sentence["text"],
    }


if __name__ == "__main__":
    evaluation(Path(sys.argv[1]), items(int(sys.argv[2])))
