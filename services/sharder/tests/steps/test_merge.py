"""What an earlier try has written is taken for what it was, and only then."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from sharder_features import make_features, windows


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
