from __future__ import annotations

from dataclasses import replace

import pytest
from audioloom.site.lineage import Lineage
from audioloom.site.read import Input, SiteRun
from audioloom.site.run_page import run_page

SHARDS = SiteRun("shards", "s", "/loom/shards/s", "shards/s.html", "committed", identity="a")
RUN = SiteRun(
    "training-run",
    "t",
    "hdfs://namenode/loom/runs/t",
    "runs/t.html",
    "committed",
    inputs=(Input("shards", "s", "/loom/shards/s", "a"),),
    tensorboard="hdfs://namenode/loom/runs/t/logs/tensorboard",
    report="hdfs://namenode/loom/runs/t/report.html",
)


@pytest.mark.parametrize(
    ("source", "told"),
    [
        (SHARDS, "as it was"),
        (replace(SHARDS, identity="b"), "another run"),
        (replace(SHARDS, state="unreadable", identity=""), "unreadable"),
        (replace(SHARDS, location="/loom/shards/other"), "not under this root"),
    ],
)
def test_what_became_of_an_input_is_told(source: SiteRun, told: str) -> None:
    """A run that was made anew since, or lost, is not what this run was made from."""
    assert f"<td>{told}</td>" in run_page(RUN, Lineage([source, RUN]))


def test_what_a_browser_or_tensorboard_cannot_open_is_text() -> None:
    """Of HDFS the place is shown, and neither a link nor a command that would fail."""
    page = run_page(RUN, Lineage([RUN]))
    assert "<dd>hdfs://namenode/loom/runs/t/report.html</dd>" in page
    assert ">hdfs://namenode/loom/runs/t/logs/tensorboard</pre>" in page
    assert "--logdir" not in page
    assert 'href="hdfs' not in page


def test_the_wall_time_of_a_training_is_a_bar() -> None:
    """Whose parts are named; it is left out where nothing was measured."""
    measured = replace(RUN, wall_time={"importing": 10.0, "steps": 30.0})
    page = run_page(measured, Lineage([measured]))
    assert "40.0 s across all attempts, 75% of it in steps." in page
    assert "importing" in page
    assert "Wall time" not in run_page(RUN, Lineage([RUN]))


def test_a_run_alone_says_so() -> None:
    """No graph of one box, and no empty sections."""
    alone = SiteRun("shards", "s", "/s", "shards/s.html", "unfinished")
    page = run_page(alone, Lineage([alone]))
    assert "This run was made from no other, and nothing was made from it." in page
    assert 1 == page.count("<h2>")
