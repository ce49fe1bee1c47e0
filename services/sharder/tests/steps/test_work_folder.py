import os
import shutil
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest
from audioloom_sharder.steps.work_folder import MOST_LOCAL_BYTES, work_folder
from audioloom_storage import locate

OLD = 1_000_000_000.0
RUN = locate("hdfs://namenode/loom/shards/run")
FREE = 10_000


@pytest.fixture(autouse=True)
def disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """A local disk with room for values of 5,000 bytes."""
    monkeypatch.setattr(shutil, "disk_usage", lambda _folder: SimpleNamespace(free=FREE))


@pytest.mark.parametrize("master", ["inline", "local[2]", "local[*]"])
def test_a_small_run_of_one_machine_works_on_local_disk(master: str) -> None:
    """Nothing of it is left, also if the run fails."""
    with work_folder(RUN, FREE // 2, master) as work:
        assert "file" == work.scheme
        (Path(work.path) / "segment").write_bytes(b"x")
    assert not Path(work.path).exists()
    with pytest.raises(RuntimeError), work_folder(RUN, 1, master) as work:
        raise RuntimeError
    assert not Path(work.path).exists()


@pytest.mark.parametrize(
    ("run", "values", "master"),
    [
        (str(RUN), 1, "yarn"),
        (str(RUN), 1, "spark://host:7077"),
        (str(RUN), None, "inline"),
        (str(RUN), FREE // 2 + 1, "inline"),
        ("/loom/shards/run", 1, "inline"),
    ],
    ids=["on YARN", "on a cluster of Spark", "of unknown size", "without room", "on a disk"],
)
def test_other_runs_work_below_their_folder(run: str, values: int | None, master: str) -> None:
    """There all executors reach the files, and the next attempt finds them."""
    with work_folder(locate(run), values, master) as work:
        assert locate(run) / "work" == work


def test_a_large_run_goes_on_where_it_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """So its files are not on local disk, whatever room that has."""
    monkeypatch.setattr(shutil, "disk_usage", lambda _folder: SimpleNamespace(free=1 << 50))
    with work_folder(RUN, MOST_LOCAL_BYTES, "inline") as work:
        assert "file" == work.scheme
    with work_folder(RUN, MOST_LOCAL_BYTES + 1, "inline") as work:
        assert RUN / "work" == work


def test_the_folder_of_a_killed_run_is_removed_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its segments would fill the disk."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with work_folder(RUN, 1, "inline") as work:
        left = Path(work.path).with_name(f"{Path(work.path).name}-left")
    left.mkdir()
    (left / "segment").write_bytes(b"x")
    os.utime(left, (OLD, OLD))
    with work_folder(RUN, 1, "inline"):
        assert not left.exists()
