"""The CSS of a run's report, light, for the screen and for paper."""

_BASE = """
:root { --ink: #1c2733; --quiet: #5d6b7a; --line: #dde3ea; --panel: #f6f8fa; }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 62rem; padding: 2rem 1.5rem 4rem; color: var(--ink);
  background: #fff; font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
h1 { font-size: 1.7rem; margin: 0 0 1rem; overflow-wrap: anywhere; }
h1 small { color: var(--quiet); font-weight: 400; font-size: 1rem; }
h2 { font-size: 1.1rem; margin: 2.2rem 0 .7rem; padding-top: .9rem;
  border-top: 1px solid var(--line); overflow-wrap: anywhere; }
.quiet { color: var(--quiet); font-size: .87rem; margin: .5rem 0 0; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .25rem 1.4rem; margin: 0;
  padding: .9rem 1.1rem; background: var(--panel); border-radius: 6px; }
dt { color: var(--quiet); }
dd { margin: 0; overflow-wrap: anywhere; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .9rem; }
th, td { padding: .3rem .8rem; text-align: left; border-bottom: 1px solid var(--line);
  vertical-align: top; overflow-wrap: anywhere; }
th { font-weight: 600; color: var(--quiet); }
thead th { border-bottom: 2px solid var(--line); }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.charts { display: flex; flex-wrap: wrap; gap: 1rem 1.5rem; }
figure { margin: 0; width: 28rem; max-width: 100%; }
figure > svg { display: block; width: 100%; height: auto; }
svg text { font-size: 11px; fill: var(--quiet); }
svg text.name { font-size: 12px; fill: var(--ink); }
.grid { stroke: #e9edf2; }
.axis { stroke: #9aa7b4; }
.diagonal { stroke: #5d6b7a; stroke-dasharray: 5 4; }
figcaption { padding-left: 3.6rem; font-size: .85rem; color: var(--quiet); }
figcaption span { margin-right: 1.2rem; white-space: nowrap; }
.bar { width: auto; }
.bar > figcaption { padding-left: 0; }
.bar span { display: inline-block; }
.key { width: 16px; height: 10px; margin-right: .4rem; }
.matrix td { text-align: right; min-width: 2.6rem; padding: .3rem .5rem; border: 1px solid #fff;
  font-variant-numeric: tabular-nums; background: var(--panel); }
.matrix th { border: 0; max-width: 14rem; }
.matrix .tilt { writing-mode: vertical-rl; transform: rotate(180deg); max-height: 12rem;
  padding: .5rem .3rem; vertical-align: bottom; }
@media print {
  body { max-width: none; padding: 0; font-size: 10.5pt; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  h2 { break-after: avoid; }
  tr, figure, dl { break-inside: avoid; }
  .wide { overflow: visible; }
}
"""


def _shades() -> str:
    rules = []
    for kind, colour in (("right", "0, 114, 178"), ("wrong", "213, 94, 0")):
        for shade in range(1, 10):
            ink = "; color: #fff" if shade > 5 else ""  # noqa: PLR2004
            opacity = 0.08 + 0.1 * shade
            rule = f"background: rgba({colour}, {opacity:.2f}){ink};"
            rules.append(f".matrix .{kind}.shade{shade} {{ {rule} }}")
    return "\n".join(rules)


STYLE = f"{_BASE}{_shades()}\n"
