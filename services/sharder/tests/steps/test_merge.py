"""What an earlier try has written is taken for what it was, and only then."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import pytest
from audioloom_sharder.sharding import layout
from audioloom_sharder.steps import encode, merge
from audioloom_storage import Location, open_read
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
