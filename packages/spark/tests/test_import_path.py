"""What Spark's Python workers import, and from where."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from audioloom_spark.session import spark_session, variables_set
from audioloom_spark.settings import SparkSettings
from audioloom_spark.units import run_units
from audioloom_stage.errors import BadConfiguration
from audioloom_stage.exit_codes import ExitCode, exit_code
from pyspark.sql import SparkSession

# Older pyspark leaves the socket of a job's result to the garbage collector, on purpose.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket.socket:ResourceWarning")
PLANTED = "import pathlib; pathlib.Path(__file__).with_suffix('.ran').touch()\n"


@pytest.fixture(scope="module")
def working_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder of planted modules, which PYTHONPATH names, too, as an empty entry does."""
    folder = tmp_path_factory.mktemp("planted")
    for name in ("queue", "json", "cloudpickle", "pyspark"):
        (folder / f"{name}.py").write_text(PLANTED)
    path = os.pathsep.join(["", ".", str(folder / "named"), ""])
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("PYTHONPATH", path)
        patch.delenv("PYTHONSAFEPATH", raising=False)
        yield folder
        assert path == os.environ["PYTHONPATH"]


@pytest.fixture(scope="module")
def session(working_folder: Path) -> Iterator[SparkSession]:
    del working_folder
    with spark_session("test", SparkSettings(master="local[1]")) as session:
        yield session


def test_the_working_folder_is_not_on_the_path(session: SparkSession, working_folder: Path) -> None:
    """Nothing of it runs; what PYTHONPATH names in words stays."""
    (path,) = run_units(session, [0], lambda _: list(sys.path))
    assert not {"", ".", str(working_folder)} & set(path)
    assert str(working_folder / "named") in path
    assert [] == list(working_folder.glob("*.ran"))


def test_a_module_that_a_unit_lacks_is_not_tried_again(session: SparkSession) -> None:
    """The error arrives as itself, and its exit code is that of a bad configuration."""

    def need(_unit: int) -> None:
        import audioloom_that_is_not_there  # type: ignore[import-not-found]  # noqa: F401

    with pytest.raises(ModuleNotFoundError) as caught:
        list(run_units(session, [0], need))
    assert ExitCode.CONFIGURATION == exit_code(caught.value)


def test_a_module_that_the_workers_lack_is_named(
    session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A task that is known here alone cannot even be unpacked there."""
    (tmp_path / "known_here.py").write_text("def task(unit):\n    return unit\n")
    monkeypatch.syspath_prepend(tmp_path)
    import known_here  # type: ignore[import-not-found]

    with pytest.raises(BadConfiguration) as caught:
        list(run_units(session, [0], known_here.task))
    assert "ModuleNotFoundError: No module named 'known_here'" == caught.value.found
    assert ExitCode.CONFIGURATION == exit_code(caught.value)


def test_an_empty_path_stays_unset() -> None:
    """YARN would append to an empty one, which makes an empty entry: the container's folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep)
        with variables_set({"PYTHONPATH": None, "JAVA_HOME": "/java"}):
            assert ("PYTHONPATH" in os.environ, "/java") == (False, os.environ["JAVA_HOME"])
        assert os.pathsep == os.environ["PYTHONPATH"]
