"""The folder that is filled: never somebody else's, and there only when it is complete."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from audioloom_debian_voices.errors import FolderTaken

MARKER: Final = ".audioloom-debian-voices"
"""A folder that says how the recordings came here; its dot keeps it out of listings of data."""

_NOTE: Final = f"{MARKER}/made.json"


def refuse_foreign(folder: Path) -> None:
    """Refuse a folder that holds something, unless this program made it.

    Raises:
        FolderTaken: it does, or it is a file.
    """
    if folder.exists() and not folder.is_dir():
        raise FolderTaken(f"expected a folder at {folder}, found a file; choose another place")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / _NOTE).is_file():
        raise FolderTaken(
            f"expected {folder} to be absent, empty or made by this program, "
            f"found other files and no {_NOTE}; choose another folder or empty this one"
        )


@contextmanager
def aside(folder: Path) -> Iterator[Path]:
    """Yield an empty folder on the same file system, which is gone when the block ends.

    What is made there and not settled leaves nothing behind: a run that is interrupted does not
    look like one that ended.
    """
    base = folder if folder.is_dir() else folder.parent
    base.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=base, prefix=f"{MARKER}-") as temporary:
        new = Path(temporary) / "new"
        new.mkdir()
        yield new


def settle(new: Path, folder: Path, facts: Mapping[str, object]) -> None:
    """Make the files in `new` those of `folder`, with a note of the facts.

    Files of an earlier run are replaced; other files in `folder` are left alone.
    """
    files = sorted(path.relative_to(new).as_posix() for path in new.rglob("*") if path.is_file())
    (new / MARKER).mkdir(exist_ok=True)
    note = {"made_by": MARKER.removeprefix("."), **facts, "files": files}
    (new / _NOTE).write_text(json.dumps(note, indent=2) + "\n", encoding="utf-8")
    if not folder.exists():
        new.rename(folder)
        return
    if (folder / _NOTE).is_file():
        _remove_earlier(folder)
    # The note first: should this be interrupted, the next run knows what to remove.
    for name in (_NOTE, *files):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (new / name).replace(folder / name)


def _remove_earlier(folder: Path) -> None:
    names = json.loads((folder / _NOTE).read_text(encoding="utf-8"))["files"]
    for path in (folder / name for name in names):
        # The note may have been edited, and a folder replaced by a link to another.
        if path.parent.resolve().is_relative_to(folder.resolve()):
            path.unlink(missing_ok=True)
