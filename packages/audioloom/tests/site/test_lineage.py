from __future__ import annotations

import re
from xml.etree import ElementTree as ET

from audioloom.site.lineage import Lineage, graph
from audioloom.site.read import Input, SiteRun
from audioloom_manifest.envelope import Kind
from hypothesis import given
from hypothesis import strategies as st

KINDS: tuple[Kind, ...] = ("recordings", "features", "shards", "training-run")


def run(kind: Kind, name: str, *sources: str, identity: str = "") -> SiteRun:
    """A run whose location is its name, and whose inputs have the kind before its own."""
    before = KINDS[max(0, KINDS.index(kind) - 1)]
    inputs = tuple(Input(before, each, each, each) for each in sources)
    return SiteRun(
        kind=kind,
        name=name,
        location=name,
        page=f"{kind}/{name}.html",
        state="committed",
        identity=identity or name,
        inputs=inputs,
    )


PIPELINE = Lineage(
    [
        run("recordings", "r"),
        run("features", "f", "r"),
        run("shards", "s", "f", "gone"),
        run("training-run", "t1", "s"),
        run("training-run", "t2", "s"),
    ]
)


def test_ancestors_and_descendants_are_found() -> None:
    """The nearest first, inputs elsewhere too, and no more than requested."""
    assert ["t1", "s", "f", "gone", "r"] == [*PIPELINE.ancestors(["t1"])]
    assert ["f", "s", "t1", "t2"] == [*PIPELINE.descendants("f", 60)]
    assert ["r", "f"] == [*PIPELINE.descendants("r", 2)]


def test_runs_that_name_each_other_end() -> None:
    """Nobody can make such runs, but anybody can write such manifests."""
    circle = Lineage([run("shards", "a", "b"), run("shards", "b", "a")])
    assert {"a", "b"} == circle.ancestors(["a"]).keys() == circle.descendants("a", 60).keys()
    assert "</svg>" in graph(circle, ["a", "b"], most=10)


def test_each_input_is_a_line() -> None:
    """An input that is no run here is dashed, and so is the line from a run made anew."""
    picture = graph(PIPELINE, ["r", "f", "s", "t1"], most=10, here="s", above="../")
    assert 4 == picture.count("<path")
    assert 1 == picture.count('class="elsewhere"') == picture.count('class="here"')
    assert 'class="changed"' not in picture
    assert '<a href="../training-run/t1.html">' in picture
    anew = Lineage([run("recordings", "r", identity="another"), run("features", "f", "r")])
    assert 1 == graph(anew, ["r", "f"], most=10).count('class="changed"')


def test_a_large_graph_is_cut_and_says_so() -> None:
    """The first ones are drawn."""
    many = Lineage(run("recordings", f"r{n}") for n in range(30))
    picture = graph(many, [*many.runs], most=10)
    assert 10 == picture.count("<rect")
    assert "20 more runs are not drawn." in picture


@given(st.lists(st.tuples(st.sampled_from(KINDS), st.sets(st.integers(0, 9))), max_size=10))
def test_any_graph_is_inside_its_picture(made: list[tuple[Kind, set[int]]]) -> None:
    """No two boxes lie on one another, and all texts are text."""
    runs = [run(kind, f"<{n}", *(f"<{s}" for s in found)) for n, (kind, found) in enumerate(made)]
    lineage = Lineage(runs)
    if not runs:
        return
    drawn = graph(lineage, [*lineage.runs], most=50)
    svg = re.search(r"<svg.*</svg>", drawn)
    assert svg
    whole = ET.fromstring(svg[0])  # noqa: S314  (our own)
    boxes = [(float(box.attrib["x"]), float(box.attrib["y"])) for box in whole.iter("rect")]
    assert len(boxes) == len(set(boxes))
    width, height = (float(whole.attrib[name]) for name in ("width", "height"))
    assert all(0 <= x <= width - 190 and 0 <= y <= height - 28 for x, y in boxes)
