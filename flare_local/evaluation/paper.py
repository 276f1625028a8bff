"""The paper's tables and figures about methods (arXiv 2305.06983, sections 6.1 and 6.2): rows, settings, numbers.

A row is asked with its task's preset (tables 7 and 9) and what is written here beside it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from flare_local.evaluation.row import Row

Numbers = Sequence[float | None]  # in the order of the block's measures, times 100; None: the paper has none


@dataclass(frozen=True)
class Block:
    """A table's part about one task."""

    task: str
    measures: tuple[str, ...]  # names of measures
    paper: Sequence[Numbers] = ()  # a row each, in the table's order; empty where the paper prints none


@dataclass(frozen=True)
class PaperTable:
    """One table or figure."""

    name: str
    title: str
    rows: tuple[Row, ...]
    blocks: tuple[Block, ...]
    along: str = ""  # what its rows differ in by degree; empty where they are kinds
    notes: tuple[str, ...] = field(default=())

    def numbers(self, block: Block, row: Row) -> Mapping[str, float | None]:
        """What the paper has, by the name of a measure."""
        if not block.paper:
            return dict.fromkeys(block.measures)
        return dict(zip(block.measures, block.paper[self.rows.index(row)], strict=True))


NONE = Row("no_retrieval", "No retrieval")
SINGLE = Row("single_time", "Single-time retrieval")
WINDOW = Row("previous_window", "Previous-window")
SENTENCE = Row("previous_sentence", "Previous-sentence")
DECOMPOSITION = Row("question_decomposition", "Question decomposition")
INSTRUCT = Row("flare_instruct", "FLARE instruct")
FLARE = Row("flare_direct", "FLARE")

SHORT = ("em", "f1", "precision", "recall")
READINGS = ("em", "disambig_f1", "rouge_l", "dr")
SUMMARY = ("unieval", "entity_f1", "rouge_l")
RATE = "trigger_rate"  # the share of sentences before which retrieval is activated
THETAS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)  # the paper names none

MAIN = (NONE, SINGLE, WINDOW, SENTENCE, FLARE)  # rows of table 2 and figure 4
STRATEGYQA = ((72.9,), (68.6,), (71.2,), (71.0,), (77.3,))
ASQA = (
    (33.8, 24.2, 33.3, 28.4),
    (40.0, 27.1, 34.0, 30.4),
    (39.9, 27.0, 34.3, 30.4),
    (39.9, 27.9, 34.3, 30.9),
    (41.3, 28.2, 34.3, 31.1),
)
ASQA_HINT = (
    (40.1, 32.5, 36.4, 34.4),
    (43.2, 34.8, 37.4, 36.0),
    (43.7, 35.7, 37.5, 36.6),
    (44.7, 35.9, 37.5, 36.7),
    (46.2, 36.7, 37.7, 37.2),
)
WIKIASP = (
    (47.1, 14.1, 26.4),
    (52.4, 17.4, 26.9),
    (51.8, 18.1, 27.3),
    (52.6, 17.8, 27.2),
    (53.4, 18.9, 27.6),
)


def _first(rows: Sequence[Numbers]) -> tuple[Numbers, ...]:
    return tuple(row[:1] for row in rows)


TABLES = {
    table.name: table
    for table in (
        PaperTable(
            "table1",
            "FLARE and baselines on 2WikiMultihopQA",
            (NONE, SINGLE, WINDOW, SENTENCE, DECOMPOSITION, INSTRUCT, Row("flare_direct", "FLARE direct")),
            (
                Block(
                    "2wiki",
                    SHORT,
                    (
                        (28.2, 36.8, 36.5, 38.6),
                        (39.4, 48.8, 48.6, 51.5),
                        (43.2, 52.3, 51.7, 54.5),
                        (39.0, 49.2, 48.9, 51.8),
                        (47.8, 56.4, 56.1, 58.6),
                        (42.4, 49.8, 49.1, 52.5),
                        (51.0, 59.7, 59.1, 62.6),
                    ),
                ),
            ),
        ),
        PaperTable(
            "table2",
            "FLARE and baselines on StrategyQA, ASQA, ASQA-hint and WikiAsp",
            MAIN,
            (
                Block("strategyqa", ("em",), STRATEGYQA),
                Block("asqa", READINGS, ASQA),
                Block("asqa-hint", READINGS, ASQA_HINT),
                Block("wikiasp", SUMMARY, WIKIASP),
            ),
        ),
        PaperTable(
            "table3",
            "Retrieval with the previous and with the next sentence",
            (
                Row("previous_sentence", "Previous", {"combine": False}),
                Row("next_sentence", "Next", {"combine": False}),
            ),
            (
                Block("2wiki", SHORT, ((39.0, 49.2, 48.9, 51.8), (48.8, 57.6, 57.1, 60.5))),
                Block("asqa-hint", READINGS, ((42.5, 34.1, 36.9, 35.5), (45.9, 35.7, 37.5, 36.6))),
            ),
            notes=(
                "Documents of the question are not kept here. The paper does not say so; its figures of the previous "
                "sentence on ASQA-hint are not those of its table 2, where they are.",
            ),
        ),
        PaperTable(
            "table4",
            "Previous-window with different numbers of tokens as queries, 2WikiMultihopQA",
            tuple(
                Row("previous_window", words.capitalize(), {"window_query": words})
                for words in ("16", "32", "48", "all")
            ),
            (
                Block(
                    "2wiki",
                    SHORT,
                    (
                        (43.2, 52.3, 51.7, 54.5),
                        (43.6, 52.4, 52.0, 55.0),
                        (40.0, 49.3, 49.0, 52.0),
                        (39.0, 48.5, 48.2, 51.1),
                    ),
                ),
            ),
            along="tokens of the query",
        ),
        PaperTable(
            "table5",
            "FLARE with different masking thresholds beta, 2WikiMultihopQA",
            tuple(Row("flare_direct", f"beta {beta:g}", {"beta": beta}) for beta in (0.0, 0.2, 0.4, 0.6)),
            (
                Block(
                    "2wiki",
                    SHORT,
                    (
                        (48.8, 57.6, 57.1, 60.5),
                        (49.8, 58.8, 58.2, 61.6),
                        (51.0, 59.7, 59.1, 62.7),
                        (50.6, 59.3, 58.6, 62.2),
                    ),
                ),
            ),
            along="beta",
        ),
        PaperTable(
            "table6",
            "FLARE with implicit and with explicit queries",
            (
                Row("flare_direct", "Implicit", {"query": "implicit"}),
                Row("flare_direct", "Explicit", {"query": "explicit"}),
            ),
            (
                Block("asqa-hint", READINGS, ((45.7, 36.9, 37.7, 37.3), (46.2, 36.7, 37.7, 37.2))),
                Block("wikiasp", SUMMARY, ((53.4, 18.8, 27.7), (53.4, 18.9, 27.6))),
            ),
        ),
        PaperTable(
            "figure4",
            "FLARE and baselines across all tasks, the primary metric of each",
            MAIN,
            (
                Block("2wiki", ("em",), ((28.2,), (39.4,), (43.2,), (39.0,), (51.0,))),
                Block("strategyqa", ("em",), STRATEGYQA),
                Block("asqa", ("em",), _first(ASQA)),
                Block("asqa-hint", ("em",), _first(ASQA_HINT)),
                Block("wikiasp", ("unieval",), _first(WIKIASP)),
            ),
        ),
        PaperTable(
            "figure5",
            "FLARE by the share of sentences before which retrieval is activated",
            tuple(Row("flare_direct", f"theta {theta:g}", {"theta": theta}) for theta in THETAS),
            (Block("2wiki", ("em", RATE)), Block("strategyqa", ("em", RATE))),
            along="theta",
            notes=(
                "The paper draws this figure without printing its numbers or its values of theta. It finds that EM "
                "levels off above 60 % on 2WikiMultihopQA and falls above 50 % on StrategyQA.",
            ),
        ),
    )
}
