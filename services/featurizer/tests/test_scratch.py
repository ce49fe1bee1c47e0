import io
from pathlib import Path

import pytest
from audioloom_featurizer.scratch import publish_as
from audioloom_manifest.envelope import FileEntry
from audioloom_manifest.errors import WrongChecksum
from audioloom_storage import locate


def published(folder: Path) -> FileEntry:
    """The entry of a file with ten bytes."""
    held = io.BytesIO(b"0123456789")
    return publish_as(held, locate(folder), "part", role="features", records=1)


def test_the_same_file_of_an_earlier_try_stands(tmp_path: Path) -> None:
    """Published twice, it lies there once, as it was first."""
    first = published(tmp_path)
    before = (tmp_path / first.path).stat()
    assert first == published(tmp_path)
    after = (tmp_path / first.path).stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


@pytest.mark.parametrize("found", [b"", b"012345678", b"01234567890", b"0123456780"])
def test_a_file_of_an_earlier_try_that_changed_is_refused(tmp_path: Path, found: bytes) -> None:
    """Its name says what it held: size and content are checked, and it is named."""
    entry = published(tmp_path)
    (tmp_path / entry.path).write_bytes(found)
    with pytest.raises(WrongChecksum, match=entry.path):
        published(tmp_path)
