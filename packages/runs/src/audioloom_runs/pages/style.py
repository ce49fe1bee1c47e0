"""The CSS of all pages: light and dark, for screens of any width and for paper."""

STYLE = """
:root { color-scheme: light dark; --paper: #fff; --ink: #1c2733; --quiet: #5d6b7a;
  --line: #dde3ea; --panel: #f6f8fa; --grid: #e9edf2; --axis: #9aa7b4; --link: #00609c; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #14191f; --ink: #e3e8ee; --quiet: #9ba8b6; --line: #313b46;
    --panel: #1c232b; --grid: #29323c; --axis: #5f6d7b; --link: #6cb8e8; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 62rem; padding: 2rem 1.5rem 4rem; color: var(--ink);
  background: var(--paper);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
h1 { font-size: 1.7rem; margin: 0 0 1rem; overflow-wrap: anywhere; }
h1 small { color: var(--quiet); font-weight: 400; font-size: 1rem; }
h2 { font-size: 1.1rem; margin: 2.2rem 0 .7rem; padding-top: .9rem;
  border-top: 1px solid var(--line); overflow-wrap: anywhere; }
h3 { font-size: .95rem; font-weight: 600; margin: 0 0 .3rem; overflow-wrap: anywhere; }
a { color: var(--link); text-underline-offset: .15em; }
:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
.quiet { color: var(--quiet); font-size: .87rem; margin: .5rem 0 0; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .25rem 1.4rem; margin: 0;
  padding: .9rem 1.1rem; background: var(--panel); border-radius: 6px; }
dt { color: var(--quiet); }
dd { margin: 0; overflow-wrap: anywhere; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .9rem; }
th, td { padding: .3rem .8rem; text-align: left; border-bottom: 1px solid var(--line);
  vertical-align: top; overflow-wrap: anywhere; min-width: 7rem; }
th { font-weight: 600; color: var(--quiet); }
thead th { border-bottom: 2px solid var(--line); }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap;
  min-width: 0; }
:is(.columns, .rows) { display: grid; gap: 1rem 2.5rem; }
.columns { grid-template-columns: repeat(auto-fit, minmax(min(26rem, 100%), 1fr)); }
:is(.columns, .rows) > * { min-width: 0; }
.charts { display: flex; flex-wrap: wrap; gap: 1rem 1.5rem; }
figure { margin: 0; width: 28rem; max-width: 100%; }
figure > svg { display: block; width: 100%; height: auto; }
svg text { font-size: 11px; fill: var(--quiet); }
svg text.name { font-size: 12px; fill: var(--ink); }
.grid { stroke: var(--grid); }
.axis { stroke: var(--axis); }
.diagonal { stroke: var(--quiet); stroke-dasharray: 5 4; }
figcaption { padding-left: 3.6rem; font-size: .85rem; color: var(--quiet); }
figcaption span { margin-right: 1.2rem; white-space: nowrap; }
.bar { width: auto; }
.bar > figcaption { padding: .4rem 0 .8rem; }
.bar span { display: inline-block; }
.bar .key rect { stroke: var(--axis); }
.key { width: 16px; height: 10px; margin-right: .4rem; }
.keys { display: flex; flex-wrap: wrap; gap: .1rem 1.2rem; margin: 0 0 .5rem; font-size: .87rem; }
.meter { display: block; width: 7rem; height: .7rem; margin: .35rem 0; background: var(--panel); }
:is(.strip, .heat) { background: var(--panel); shape-rendering: crispEdges; }
.strip { display: block; margin: .2rem 0; }
.quiet .key { width: auto; vertical-align: -1px; }
.pictures { display: grid; gap: 1rem 1.2rem;
  grid-template-columns: repeat(auto-fill, minmax(min(13rem, 100%), 1fr)); }
.pictures figure { width: auto; }
.pictures figure > svg { height: 9rem; }
.pictures figcaption { padding: .2rem 0 0; overflow-wrap: anywhere; }
td p { margin: 0 0 .3rem; min-width: 13rem; }
th:empty, td:has(> .meter) { min-width: 0; }
.warning { border-left: 3px solid #d55e00; padding-left: .7rem; margin: .7rem 0 0; }
@media (max-width: 40rem) {
  body { padding: 1.2rem 1rem 3rem; }
  dl { grid-template-columns: 1fr; gap: 0; }
  .meter { width: 4rem; }
  .pictures { grid-template-columns: 1fr 1fr; }
  .pictures figure > svg { height: 6.5rem; }
  dd { margin-bottom: .5rem; }
  th, td { padding: .3rem .5rem .3rem 0; }
  figure svg text { font-size: 14px; }
  figure svg text.name { font-size: 15px; }
}
@media print {
  :root { --paper: #fff; --ink: #1c2733; --quiet: #5d6b7a; --line: #dde3ea; --panel: #f6f8fa;
    --grid: #e9edf2; --axis: #9aa7b4; --link: #00609c; }
  body { max-width: none; padding: 0; font-size: 10.5pt; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  h2 { break-after: avoid; }
  tr, figure, dl { break-inside: avoid; }
  .wide { overflow: visible; }
}
"""
