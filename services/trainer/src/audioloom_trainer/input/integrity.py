"""Checks of shard files: presence and size before reading, content early in the run."""

import threading
from collections.abc import Iterable, Iterator, Sequence

from audioloom_manifest import Patience
from audioloom_storage import Location, NotFound, list_folder, stat

from audioloom_trainer.errors import ShardMismatch
from audioloom_trainer.input.cache import verify_in_place
from audioloom_trainer.shards.shard_set import FileRef, ShardSet


def check_files_exist(shard_set: ShardSet, splits: Iterable[str]) -> None:
    """Compare presence and size of every shard and index of some splits with the manifest.

    Each folder is listed once, for any number of files.

    Raises:
        MissingFile: names the files that are missing and did not appear late either.
        ShardMismatch: names the first file of another size.
    """
    files = [file for split in splits for file in files_of(shard_set, split)]
    sizes = dict(_sizes({file.location.parent for file in files}))
    other = [file for file in files if sizes.get(file.location) != file.bytes]
    Patience().wait_for(file.location for file in other)
    for file in other:
        _check(file)


def files_of(
    shard_set: ShardSet, split: str, *, part: int = 0, parts: int = 1
) -> Iterator[FileRef]:
    """Return the shards and indexes of a split, or one of several even parts of them."""
    for shard in shard_set.split(split).shards[part::parts]:
        yield from (shard.data, shard.index)


def _sizes(folders: Iterable[Location]) -> Iterator[tuple[Location, int]]:
    for folder in folders:
        try:
            yield from ((entry.location, entry.size) for entry in list_folder(folder))
        except NotFound:
            continue


def _check(file: FileRef) -> None:
    found = stat(file.location).size
    if found != file.bytes:
        raise ShardMismatch(
            where=file.location,
            expected=f"{file.bytes} bytes",
            found=f"{found}",
            hint="The file was cut short or exchanged after its commit: copy it again, or delete"
            " the run of the sharder and rerun it.",
        )


class BackgroundVerification:
    """Verification of files in a thread, up to the first file that differs from the manifest.

    Args:
        files: the files to verify.
    """

    def __init__(self, files: Sequence[FileRef]) -> None:
        self.failure: Exception | None = None
        """What is wrong with one of them."""
        self._files = files
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="early check", daemon=True)

    def start(self) -> None:
        """Start the verification thread."""
        self._thread.start()

    def wait(self, seconds: float) -> None:
        """Wait at most *seconds* until all files are verified or one is wrong."""
        self._thread.join(timeout=seconds)

    def close(self) -> None:
        """Stop after the current file; the wait for it is short."""
        self._closing = True
        self.wait(5.0)

    def _run(self) -> None:
        for file in self._files:
            if self._closing:
                return
            try:
                verify_in_place(file)
            except Exception as error:  # noqa: BLE001  (the reader of `failure` raises it)
                self.failure = error
                return
