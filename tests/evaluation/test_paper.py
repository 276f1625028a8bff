"""The paper's tables: every row is asked as tables 7 and 9 say, and the numbers fit each other."""

from math import sqrt
from typing import Any

import pytest

from flare_local.cli.opening import task_of
from flare_local.cli.reproduce import DEFAULTS
from flare_local.cli.row_options import of_paper, row_options, with_preset
from flare_local.cli.sources import resolve
from flare_local.datasets.kinds import KINDS
from flare_local.evaluation.paper import FLARE, NONE, SENTENCE, SINGLE, TABLES, WINDOW
from flare_local.evaluation.row import Row
from flare_local.metrics.measures import measures_of
from flare_local.policies.rules import Rules
from flare_local.tasks.presets import PRESETS

# Tables 7 and 9: documents, exemplars, documents for exemplars, theta, beta, queries, combined.
SETTINGS = {
    "2wiki": (2, 8, True, 0.8, 0.4, "implicit", False),
    "strategyqa": (3, 6, False, 0.4, 0.4, "implicit", False),
    "asqa": (3, 8, False, 0.8, 0.4, "explicit", True),
    "asqa-hint": (3, 8, False, 0.8, 0.4, "explicit", True),
    "wikiasp": (5, 4, False, 0.8, 0.4, "explicit", True),
}
CELLS = [(table, block, row) for table in TABLES.values() for block in table.blocks for row in table.rows]


def asked(task: str, row: Row, **environment: str) -> Any:
    """Options of a row of a table."""
    return row_options(with_preset(of_paper(resolve({}, None, environment)), KINDS[task].preset), row)


def rules(task: str, row: Row) -> Rules:
    return task_of(asked(task, row)).rules


@pytest.mark.parametrize("task", SETTINGS)
@pytest.mark.parametrize("row", [NONE, SINGLE, WINDOW, SENTENCE, FLARE], ids=lambda row: row.name)
def test_rows_have_the_settings_of_tables_7_and_9(task: str, row: Row) -> None:
    top_k, exemplars, documents, theta, beta, query, combine = SETTINGS[task]
    found, options = rules(task, row), asked(task, row)
    assert (found.top_k, found.theta, found.beta) == (top_k, theta, beta)
    assert (str(found.query), found.combine) == (query, combine)
    assert (options.method.exemplar_documents, found.schedule.name) == (documents, "paper")
    assert task_of(options).exemplars.count == exemplars
    assert (found.window, found.window_query, found.look_ahead, found.search_bias) == (16, 16, 64, 2.0)
    assert found.sampling.temperature == 0


def test_rows_of_ablations_differ_from_their_task_in_one_setting() -> None:
    assert [rules("2wiki", row).window_query for row in TABLES["table4"].rows] == [16, 32, 48, None]
    assert [rules("2wiki", row).beta for row in TABLES["table5"].rows] == [0.0, 0.2, 0.4, 0.6]
    assert [str(rules("wikiasp", row).query) for row in TABLES["table6"].rows] == ["implicit", "explicit"]
    thetas = [rules("strategyqa", row).theta for row in TABLES["figure5"].rows]
    assert (thetas[0], thetas[-1]) == (0.0, 1.0)  # from never to always
    assert [row.method for row in TABLES["table3"].rows] == ["previous_sentence", "next_sentence"]


def test_environment_and_file_do_not_change_a_table() -> None:
    assert asked("2wiki", FLARE, FLARE_THETA="0.1", FLARE_TOP_K="9").method == asked("2wiki", FLARE).method


def test_tables_share_the_rows_that_are_the_same() -> None:
    preset = DEFAULTS | PRESETS["2wiki"].settings("paper")
    names = {name: [row.beside(preset).name for row in table.rows] for name, table in TABLES.items()}
    assert names["table4"][0] == "previous_window"
    assert names["table5"] == ["flare_direct.beta-0", "flare_direct.beta-0.2", "flare_direct", "flare_direct.beta-0.6"]
    assert names["figure5"][4] == names["table1"][-1] == "flare_direct"
    assert names["table3"] == ["previous_sentence", "next_sentence"]
    assert len({name for row in names.values() for name in row}) == 20


@pytest.mark.parametrize(("table", "block", "row"), CELLS, ids=lambda each: getattr(each, "name", None))
def test_every_number_has_its_measure(table: Any, block: Any, row: Row) -> None:
    known = {measure.name for measure in measures_of(block.task)}
    numbers = table.numbers(block, row)
    assert set(numbers) == set(block.measures) <= known
    assert len(block.paper) in (0, len(table.rows))
    assert all(value is None or 10 < value < 100 for value in numbers.values())


@pytest.mark.parametrize(("table", "block", "row"), CELLS, ids=lambda each: getattr(each, "name", None))
def test_dr_is_the_geometric_mean_of_its_parts(table: Any, block: Any, row: Row) -> None:
    numbers = table.numbers(block, row)
    if "dr" in numbers:
        assert numbers["dr"] == pytest.approx(sqrt(numbers["disambig_f1"] * numbers["rouge_l"]), abs=0.1)


def test_names_of_folders_are_plain() -> None:
    row = Row("flare_direct", "x", {"theta": 0.4, "combine": True, "query": "explicit"})
    assert row.name == "flare_direct.combine-yes.query-explicit.theta-0.4"
