"""The look of the page: colours by kind of work, light and dark."""

from flare_local.profile.names import GROUPS
from flare_local.spans import Kind

COLOURS: dict[Kind, str] = {
    Kind.PREFILL: "#3b6fd4",
    Kind.DECODE: "#8fb4f5",
    Kind.VERIFY: "#17a589",
    Kind.MIXED: "#7d6bd6",
    Kind.SEARCH: "#e08e2b",
    Kind.OTHERS: "#9aa5b1",
    Kind.WAIT: "#c3cad3",
    Kind.CLOSE: "#c3cad3",
    Kind.RUN: "#c3cad3",
    Kind.PYTHON: "#b9a7d8",
    Kind.IMPORTS: "#a58ccc",
    Kind.MODEL: "#8e6fbf",
    Kind.CHECK: "#7857ad",
    Kind.POOL: "#65459a",
    Kind.JAVA: "#c98bb9",
    Kind.INDEX: "#b56aa3",
}
COLOURS |= {kind: "#d2566b" for kind in GROUPS["host work"]}

BASE = """
:root { color-scheme: light dark; --ink: #1c2430; --quiet: #667080; --line: #e2e6ec; --paper: #ffffff; --back: #f5f7fa;
  --good: #0e8a6a; --low: #f4b740; --lower: #e5484d; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ee; --quiet: #98a2b0; --line: #303846; --paper: #1a1f28;
  --back: #12161d; --good: #3ecf9f; --low: #a8780f; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--back); color: var(--ink); font: 15px/1.5 system-ui, "Segoe UI", sans-serif; }
main { max-width: 1160px; margin: 0 auto; padding: 28px 20px 60px; }
h1 { font-size: 22px; margin: 0 0 2px; } h2 { font-size: 18px; margin: 0; overflow-wrap: anywhere; }
h3 { font-size: 12px; margin: 22px 0 6px; color: var(--quiet); font-weight: 600; text-transform: uppercase;
  letter-spacing: .05em; }
p { margin: 4px 0; } .quiet { color: var(--quiet); } .good { color: var(--good); }
section { background: var(--paper); border: 1px solid var(--line); border-radius: 10px; padding: 18px 20px;
  margin-top: 20px; }
.step { display: grid; grid-template-columns: 84px 1fr; gap: 4px 12px; padding: 12px 0;
  border-top: 1px solid var(--line); overflow-wrap: anywhere; }
.step > dt { color: var(--quiet); font-size: 13px; padding-top: 2px; } .step > dd { margin: 0; }
.head { grid-column: 1 / -1; font-weight: 600; }
.tag { font-size: 12px; font-weight: 600; border-radius: 9px; padding: 1px 9px; margin-left: 8px; color: #fff; }
.tag.search { background: #c9761a; } .tag.kept { background: #0e8a6a; } .tag.other { background: #6b7686; }
.words { white-space: pre-wrap; } .words span { border-radius: 3px; padding: 1px 0; }
.low { background: color-mix(in srgb, var(--low) var(--much), transparent); }
.lower { background: color-mix(in srgb, var(--lower) 55%, transparent); }
.right { border-bottom: 2px solid #17a589; }
.query { color: #c9761a; } code { font: 13px ui-monospace, monospace; }
table { border-collapse: collapse; width: 100%; font-size: 13px; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: 3px 8px; border-bottom: 1px solid var(--line); font-weight: 400; }
th { color: var(--quiet); } th:first-child, td:first-child { text-align: left; overflow-wrap: anywhere; }
"""  # of every page

CSS = (
    BASE
    + """
.bar { display: flex; height: 22px; border-radius: 5px; overflow: hidden; margin: 12px 0 8px; background: var(--line); }
.bar i { display: block; min-width: 1px; }
.legend { display: flex; flex-wrap: wrap; gap: 2px 18px; font-size: 13px; }
.legend b { display: inline-block; width: 10px; height: 10px; border-radius: 2px; margin-right: 6px; }
.legend span span { color: var(--quiet); margin-left: 5px; font-variant-numeric: tabular-nums; }
svg { display: block; width: 100%; height: auto; margin-top: 6px; }
svg text { fill: var(--quiet); font: 11px system-ui, sans-serif; } svg .on { fill: #fff; font-weight: 600; }
svg .grid { stroke: var(--line); stroke-width: 1; } svg .lane { fill: var(--back); }
"""
)
