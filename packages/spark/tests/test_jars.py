"""Spark's jars are shipped once, by what is in them."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest
from audioloom_spark.errors import NoCluster
from audioloom_spark.jars import ship_jars
from audioloom_storage import is_temporary, list_folder, locate
from audioloom_storage.testing import Crashed, CrashPlan, steps


def home(folder: Path, **jars: str) -> Path:
    (folder / "jars").mkdir(parents=True)
    for name, text in jars.items():
        (folder / "jars" / f"{name}.jar").write_text(text)
    return folder


def test_no_jars_are_told(tmp_path: Path) -> None:
    """A Spark without jars is none."""
    with pytest.raises(NoCluster, match="jars"):
        ship_jars(tmp_path, locate(tmp_path))


def test_the_same_jars_are_shipped_once(tmp_path: Path) -> None:
    """The name is a digest of names and content."""
    ships = locate(tmp_path / "ships")
    one = ship_jars(home(tmp_path / "a", x="1", y="2"), ships)
    data = Path(one.path).read_bytes()
    assert one == ship_jars(home(tmp_path / "b", y="2", x="1"), ships)
    assert one != ship_jars(home(tmp_path / "c", x="1", y="3"), ships)
    assert data == Path(one.path).read_bytes()
    with tarfile.open(one.path) as archive:
        assert ["x.jar", "y.jar"] == archive.getnames()


def test_power_cut_at_every_step(tmp_path: Path) -> None:
    """After a cut at any step the archive is whole or not there, and the next try ships it."""
    spark = home(tmp_path / "spark", x="1", y="2")
    with steps(tmp_path / "counter") as taken:
        ship_jars(spark, locate(tmp_path / "whole"))
    for number in range(1, taken.count + 1):
        ships = locate(tmp_path / f"ships-{number}")
        plan = CrashPlan(tmp_path / f"counter-{number}", number)
        with pytest.raises(Crashed), plan.armed():
            ship_jars(spark, ships)
        with tarfile.open(ship_jars(spark, ships).path) as archive:
            assert ["x.jar", "y.jar"] == archive.getnames()
        names = [entry.location.name for entry in list_folder(ships)]
        assert 1 == sum(not is_temporary(name) for name in names)
