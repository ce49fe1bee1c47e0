"""The CSS of a run's report: that of all pages, cards, and shades of the confusion matrix."""

from audioloom_runs.pages import style

_OWN = """
.cards { display: flex; flex-wrap: wrap; gap: 1rem; }
.cards > div { flex: 1 1 16rem; padding: .9rem 1.1rem; background: var(--panel);
  border-radius: 6px; }
.cards b { display: block; font-size: 2.2rem; line-height: 1.3; font-weight: 600; }
.cards span { display: block; color: var(--quiet); }
.matrix td { text-align: right; min-width: 2.6rem; padding: .3rem .5rem;
  border: 1px solid var(--paper); font-variant-numeric: tabular-nums; background: var(--panel); }
.matrix th { border: 0; max-width: 14rem; min-width: 0; }
.matrix th:first-child { min-width: 6rem; position: sticky; left: 0; background: var(--paper); }
.matrix .tilt { writing-mode: vertical-rl; transform: rotate(180deg); max-height: 12rem;
  padding: .5rem .3rem; vertical-align: bottom; }
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


STYLE = f"{style.STYLE}{_OWN}{_shades()}\n"
