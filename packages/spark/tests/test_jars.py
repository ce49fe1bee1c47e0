"""Spark's jars are shipped once, by what is in them."""

from __future__ import annotations

import base64
import hashlib
import os
import tarfile
from pathlib import Path

import pytest
from audioloom_spark.yarn import ship_jars
from audioloom_stage.errors import BadConfiguration, TryAgain
from audioloom_storage import is_temporary, list_folder, locate
from audioloom_storage_testing import Crashed, CrashPlan, steps


def home(folder: Path, **jars: str) -> Path:
    (folder / "jars").mkdir(parents=True)
    for name, text in jars.items():
        (folder / "jars" / f"{name}.jar").write_text(text)
    return folder


def test_no_jars_are_told(tmp_path: Path) -> None:
    """A Spark without jars is none."""
    with pytest.raises(BadConfiguration, match="jars"):
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


@pytest.mark.parametrize("planted_mode", [0o666, 0o660, None])
def test_planted_jars_are_not_shipped(tmp_path: Path, planted_mode: int | None) -> None:
    """What others could have written, or another user has, stays; ours is readable for us alone."""
    if planted_mode is None and os.geteuid() != 0:
        pytest.skip("only root gives files away")
    spark, ships = home(tmp_path / "spark", x="1"), locate(tmp_path / "ships")
    planted = Path(ship_jars(spark, ships).path)
    assert 0o600 == planted.stat().st_mode & 0o777
    planted.write_bytes(b"planted")
    if planted_mode is None:
        os.chown(planted, 65534, -1)
    else:
        planted.chmod(planted_mode)
    ours = ship_jars(spark, ships)
    assert planted.with_suffix(".2.tar") == Path(ours.path)
    assert ours == ship_jars(spark, ships)
    assert b"planted" == planted.read_bytes()


def vouched(site: Path, jar: str) -> Path:
    """A pyspark whose RECORD says what the jar `x` held when it was installed."""
    spark = home(site / "pyspark", x=jar)
    digest = base64.urlsafe_b64encode(hashlib.sha256(b"1").digest()).rstrip(b"=").decode()
    about = site / "pyspark-4.3.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Name: pyspark\nVersion: 4.3.0\n")
    (about / "RECORD").write_text(f"pyspark/jars/x.jar,sha256={digest},1\n")
    return spark


def test_what_a_record_vouches_for_has_the_same_name(tmp_path: Path) -> None:
    """Whether the jars were read for it or not."""
    ships = locate(tmp_path / "ships")
    read = ship_jars(home(tmp_path / "pyspark", x="1"), ships)
    assert read == ship_jars(vouched(tmp_path / "site", "1"), ships)


def test_a_jar_that_is_not_what_was_installed_is_not_shipped(tmp_path: Path) -> None:
    """The name would be that of other bytes."""
    spark = vouched(tmp_path / "site", "2")
    os.utime(spark / "jars" / "x.jar", (0, 0))
    with pytest.raises(TryAgain, match=r"x\.jar"):
        ship_jars(spark, locate(tmp_path / "ships"))
    assert [] == list(list_folder(locate(tmp_path / "ships")))


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
