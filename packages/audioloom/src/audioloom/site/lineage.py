"""The graph of runs and their inputs: recordings, features, shards, trainings, left to right."""

import sys
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from statistics import mean

from audioloom_manifest.layout import FOLDERS
from audioloom_runs.pages.markup import Markup, element, joined
from audioloom_runs.pages.parts import note
from audioloom_stage.escapes import shortened

from audioloom.site.read import Input, SiteRun

_WIDTH, _HEIGHT, _COLUMN, _ROW, _TOP = 190, 28, 250, 38, 30
_LETTERS = 26
_COLUMNS = [*FOLDERS]


class Lineage:
    """Runs by their location, and what each was made from and for."""

    def __init__(self, runs: Iterable[SiteRun]) -> None:
        self.runs = {run.location: run for run in runs}
        self._made: dict[str, list[str]] = {}
        for run in self.runs.values():
            for each in run.inputs:
                self._made.setdefault(each.location, []).append(run.location)

    def ancestors(self, places: Iterable[str]) -> dict[str, None]:
        """The runs at these places, and all that they were made from, the nearest first."""
        return _reached(places, lambda place: [each.location for each in self.inputs(place)])

    def descendants(self, place: str, most: int) -> dict[str, None]:
        """The run at a place and what was made from it, the nearest first, about *most* runs."""
        return _reached([place], lambda each: self._made.get(each, []), most)

    def inputs(self, place: str) -> Sequence[Input]:
        """The inputs of the run at a place."""
        return self.runs[place].inputs if place in self.runs else ()


def _reached(
    places: Iterable[str], onward: Callable[[str], list[str]], most: int = sys.maxsize
) -> dict[str, None]:
    found = dict.fromkeys(places)
    left = deque(found)
    while left and len(found) < most:
        new = [place for place in onward(left.popleft()) if place not in found]
        found |= dict.fromkeys(new)
        left += new
    return found


def graph(
    lineage: Lineage, places: Collection[str], *, most: int, above: str = "", here: str = ""
) -> Markup:
    """Draw runs, each with a line from each of its inputs; inputs that are no run here are dashed.

    The more important *places* come first: a note says so if there are more than *most*. The run
    *here* is pointed out; *above* is the path from the page to the first page's folder.
    """
    runs, shown = lineage.runs, [*places][:most]
    inputs = [each for place in shown for each in lineage.inputs(place)]
    nodes: dict[str, SiteRun | Input] = {
        **{each.location: each for each in inputs if each.location not in runs},
        **{place: runs[place] for place in shown if place in runs},
    }
    at = _placed(nodes)
    width = max(x for x, _ in at.values()) + _WIDTH + 2
    height = max(y for _, y in at.values()) + _HEIGHT + 2
    heads = [
        element("text", kind, x=column * _COLUMN, y=14)
        for column, kind in enumerate(_COLUMNS)
        if any(x == column * _COLUMN + 1 for x, _ in at.values())
    ]
    picture = element(
        "svg",
        *heads,
        *(_line(at, place, runs[place], nodes) for place in nodes if place in runs),
        *(_node(at[place], node, above, here=place == here) for place, node in nodes.items()),
        viewBox=f"0 0 {width} {height}",
        width=width,
        height=height,
        class_="lineage",
        role="group",
        aria_label="Lineage",
    )
    left = len(places) - len(shown)
    cut = note(f"{left:,} more runs are not drawn.") if left > 0 else None
    return joined(element("div", picture, class_="wide", tabindex="0"), cut)


def _placed(nodes: Mapping[str, SiteRun | Input]) -> dict[str, tuple[float, float]]:
    """The corner of each node: a column for each kind, near the inputs of the node."""
    at: dict[str, tuple[float, float]] = {}
    for column, kind in enumerate(_COLUMNS):
        heights = {
            place: _height_of_inputs(node, at) for place, node in nodes.items() if node.kind == kind
        }
        for row, place in enumerate(sorted(heights, key=heights.__getitem__)):
            at[place] = (column * _COLUMN + 1.0, _TOP + row * _ROW + 1.0)
    return at


def _height_of_inputs(node: SiteRun | Input, at: Mapping[str, tuple[float, float]]) -> float:
    inputs = node.inputs if isinstance(node, SiteRun) else ()
    known = [at[each.location][1] for each in inputs if each.location in at]
    return mean(known) if known else float("inf")


def _line(
    at: Mapping[str, tuple[float, float]],
    place: str,
    run: SiteRun,
    nodes: Mapping[str, SiteRun | Input],
) -> Markup:
    drawn = []
    right, low = at[place]
    for each in run.inputs:
        if each.location not in at:
            continue
        left, high = at[each.location]
        x1, y1, x2, y2 = left + _WIDTH, high + _HEIGHT / 2, right, low + _HEIGHT / 2
        middle = (x1 + x2) / 2
        source = nodes[each.location]
        changed = source.identity != each.identity
        path = f"M{x1} {y1}C{middle} {y1} {middle} {y2} {x2} {y2}"
        drawn.append(element("path", d=path, class_="changed" if changed else None))
    return joined(*drawn)


def _node(corner: tuple[float, float], node: SiteRun | Input, above: str, *, here: bool) -> Markup:
    x, y = corner
    box = joined(
        element("title", f"{node.kind} {node.name}"),
        element("rect", x=x, y=y, width=_WIDTH, height=_HEIGHT, rx=5),
        element("text", shortened(node.name, _LETTERS), x=x + 10, y=y + _HEIGHT / 2 + 4),
    )
    if isinstance(node, Input):
        return element("g", box, class_="elsewhere")
    return element("a", box, href=above + node.page, class_="here" if here else None)
