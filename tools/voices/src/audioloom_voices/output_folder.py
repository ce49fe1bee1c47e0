"""The folder that is filled: never somebody else's, and there only when it is complete."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from audioloom_voices.errors import FolderTaken


@dataclass(frozen=True)
class OutputFolder:
    """A folder of recordings of one kind.

    Attributes:
        path: where it lies, or is to lie.
        kind: `demo` or `debian`; a folder that the other command filled is somebody else's.
    """

    path: Path
    kind: str

    @property
    def marker(self) -> str:
        """The folder that says how the recordings came; its dot keeps it out of listings."""
        return f".audioloom-{self.kind}-voices"

    @property
    def _note(self) -> str:
        return f"{self.marker}/made.json"

    def refuse_foreign(self) -> None:
        """Refuse a folder that holds something, unless this command made it.

        Raises:
            FolderTaken: it does, or it is a file.
        """
        path = self.path
        if path.exists() and not path.is_dir():
            raise FolderTaken(f"expected a folder at {path}, found a file; choose another place")
        if path.is_dir() and any(path.iterdir()) and not (path / self._note).is_file():
            raise FolderTaken(
                f"expected {path} to be absent, empty or made by this command, "
                f"found other files and no {self._note}; choose another folder or empty this one"
            )

    @contextmanager
    def staging(self) -> Iterator[Path]:
        """Yield an empty folder on the same file system, which is gone when the block ends.

        What is made there and not committed leaves nothing behind: a run that is interrupted does
        not look like one that ended.
        """
        base = self.path if self.path.is_dir() else self.path.parent
        base.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=base, prefix=f"{self.marker}-") as temporary:
            new = Path(temporary) / "new"
            new.mkdir()
            yield new

    def commit(self, new: Path, facts: Mapping[str, object]) -> None:
        """Make the files in *new* those of this folder, with a note of the facts.

        Files of an earlier run are replaced; other files in the folder are left alone.
        """
        files = sorted(
            path.relative_to(new).as_posix() for path in new.rglob("*") if path.is_file()
        )
        (new / self.marker).mkdir(exist_ok=True)
        note = {"made_by": self.marker.removeprefix("."), **facts, "files": files}
        (new / self._note).write_text(json.dumps(note, indent=2) + "\n", encoding="utf-8")
        if not self.path.exists():
            new.rename(self.path)
            return
        if (self.path / self._note).is_file():
            self._remove_earlier()
        # The note first: should this be interrupted, the next run knows what to remove.
        for name in (self._note, *files):
            (self.path / name).parent.mkdir(parents=True, exist_ok=True)
            (new / name).replace(self.path / name)

    def _remove_earlier(self) -> None:
        names = json.loads((self.path / self._note).read_text(encoding="utf-8"))["files"]
        for path in (self.path / name for name in names):
            # The note may have been edited, and a folder replaced by a link to another.
            if path.parent.resolve().is_relative_to(self.path.resolve()):
                path.unlink(missing_ok=True)
