"""What an earlier try has written is taken for what it was, and only then."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import BinaryIO

import pytest
from audioloom_sharder.sharding import layout
from audioloom_sharder.steps import encode, job, merge
from audioloom_storage import Location, Unavailable, create, open_read
from sharder_features import make_features, windows
from sharder_runs import committed, contents


@pytest.mark.parametrize("kind", ["tfrecord", "idx.npy"])
def test_a_file_of_an_earlier_try_that_has_another_size_is_named(
    sharder: Callable, tmp_path: Path, kind: str
) -> None:
    """Its name says what it held; it may have been cut off since."""
    words = ("run", make_features(tmp_path, [windows(60, groups=30)]).folder, "--lanes", "2")
    manifest = Path(sharder(*words).out.strip())
    manifest.unlink()
    cut = sorted(manifest.parent.rglob(f"*.{kind}"))[0]
    cut.write_bytes(cut.read_bytes()[:-1])
    ran = sharder(*words)
    assert 65 == ran.code
    assert str(cut) in ran.err
    assert not manifest.exists()


def test_a_segment_that_cannot_be_read_is_made_again(
    sharder: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """HDFS lists a file whose only copy is lost: a run fails, and the next does not need it."""
    features = make_features(tmp_path, [windows(60), windows(120)[60:]])
    words = ("run", features.folder, "--lanes", "2", "--split", "train=1")
    plain = committed(sharder(*words, "--name", "plain").out)
    lost: list[str] = []

    def without_the_first(where: Location) -> BinaryIO:
        lost.extend([] if lost else [where.name])
        if where.name in lost:
            raise Unavailable("no DataNode has its blocks", where=where)
        return open_read(where)

    monkeypatch.setattr(merge, "open_read", without_the_first)
    failed = sharder(*words, "--name", "again")
    assert 69 == failed.code
    assert lost[0] in failed.err
    found = committed(sharder(*words, "--name", "again").out)
    assert contents(Path(plain.folder.path)) == contents(Path(found.folder.path))


@pytest.mark.parametrize(("least", "copies"), [(1, 1), (1 << 40, None)])
def test_a_large_segment_has_one_copy(
    sharder: Callable,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    least: int,
    copies: int | None,
) -> None:
    """All other files have as many copies as the cluster gives."""
    asked: dict[str, int | None] = {}

    def noted(where: Location, *, replication: int | None = None) -> AbstractContextManager:
        asked[where.name.partition("-")[0]] = replication
        return create(where, replication=replication)

    monkeypatch.setattr(job, "create", noted)
    monkeypatch.setattr(encode, "ONE_COPY_BYTES", least)
    words = ("run", make_features(tmp_path, [windows(60)]).folder, "--lanes", "2")
    committed(sharder(*words, "--split", "train=1").out)
    assert copies == asked.pop("segments")
    assert {"scans", "ranks", "train"} <= asked.keys()
    assert {None} == {*asked.values()}


def test_each_unit_opens_each_segment_once(
    sharder: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The NameNode's work is units times files; how many shards are one unit changes no byte."""
    features = make_features(tmp_path, [windows(120), windows(240)[120:]])
    words = ("run", features.folder, "--shards", "24", "--lanes", "4", "--split", "train=1")
    plain = committed(sharder(*words, "--name", "plain").out)
    opened: list[str] = []

    def counted(where: Location) -> BinaryIO:
        opened.append(where.name)
        return open_read(where)

    monkeypatch.setattr(merge, "open_read", counted)
    monkeypatch.setattr(encode, "WINDOW_BYTES", 5000)
    monkeypatch.setattr(layout, "UNIT_SHARDS", 1)
    opens = []
    for units in (1, 24):
        monkeypatch.setattr(layout, "UNITS", units)
        found = committed(sharder(*words, "--name", f"units-{units}").out)
        assert contents(Path(plain.folder.path)) == contents(Path(found.folder.path))
        opens.append(len(opened))
        opened.clear()
    assert [2, 2 * 24] == opens
