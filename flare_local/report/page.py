"""The page of a report: one file that fetches nothing.

Texts of models, documents and questions are data. Python writes those of the tables through `escaped`; answers lie in
blocks of JSON, in which no markup can begin, and the page's script shows them as text. Should one ever get past this,
a policy in the page's head forbids every style and script but its own, by their hashes.
"""

import json
from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256
from importlib.resources import files

from flare_local.profile.markup import escaped
from flare_local.profile.style import BASE
from flare_local.report.answers import details, overview
from flare_local.report.figures import plots
from flare_local.report.row import Report
from flare_local.report.tables import comparison, scores, settings

NOT_IN_MARKUP = {ord("<"): "\\u003c", ord(">"): "\\u003e", ord("&"): "\\u0026"}


def page_of(report: Report) -> str:
    """The page as HTML, in ASCII but for what Python itself writes."""
    style = BASE + _file("page.css")
    script = _file("page.js")
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    return "".join(
        [
            '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escaped(report.title)}: report</title><style>{style}</style></head><body><main>",
            *_body(report),
            f'</main><script type="application/json" id="overview">{embedded(overview(report))}</script>',
            *(
                f'<script type="application/json" id="details-{place}">{embedded(each)}</script>'
                for place, each in enumerate(details(report))
            ),
            f"<script>{script}</script></body></html>\n",
        ]
    )


def embedded(value: object) -> str:
    """`value` as JSON that can stand in a script element: ASCII, and nothing that HTML could take for markup."""
    return json.dumps(value, allow_nan=False, separators=(",", ":")).translate(NOT_IN_MARKUP)


def _body(report: Report) -> Iterator[str]:
    yield f"<h1>{escaped(report.title)}</h1>"
    yield "".join(f'<p class="quiet small">{escaped(text)}</p>' for text in report.about)
    yield '<p><a href="#questions">All questions and answers</a> are below the figures.</p>'
    quality = "".join(scores(report.rows, costs=False))
    if quality:
        yield f'<section id="scores"><h2>Scores</h2><p class="quiet small">{SCORES}</p>{quality}</section>'
    yield from plots(report)
    if report.comparisons:
        yield f'<section id="differences"><h2>Differences</h2><p class="quiet small">{DIFFERENCES}</p>'
        for each in report.comparisons:
            yield from comparison(report, each)
        yield "</section>"
    yield '<section id="cost"><h2>Cost</h2>'
    yield f'<p class="quiet small">{COST}</p>'
    yield from scores(report.rows, costs=True)
    yield '</section><section id="settings"><h2>Settings</h2>'
    yield from settings(report.rows)
    yield '</section><section id="questions"><h2>Questions</h2>'
    yield f'<noscript><p class="bad">{NO_SCRIPT}</p></noscript></section>'


SCORES = (
    "Shares times 100, with 95 % intervals: what the figure might be on other questions of the same kind. A "
    "question without an answer counts as wrong."
)
DIFFERENCES = (
    "The same questions answered twice. Where the interval holds 0, these questions do not tell the two apart; the "
    "last column says how many would be needed to see a difference of this size in 80 of 100 tries."
)
NO_SCRIPT = "The questions are shown by a script, which this browser does not run."
COST = "Means of an answer, but for the shares of sentences. Seconds: others running beside it."


def _file(name: str) -> str:
    return files("flare_local.report").joinpath(name).read_text("utf-8")


def _hash(content: str) -> str:
    return f"sha256-{b64encode(sha256(content.encode()).digest()).decode()}"
