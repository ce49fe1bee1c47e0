"""Check presence and size of shard files before any is read."""

from collections.abc import Iterable
from contextlib import suppress

from audioloom_manifest.late_files import Patience
from audioloom_storage import Location, NotFound, list_folder, stat

from audioloom_trainer.input.cache import check_size
from audioloom_trainer.shards.shard_set import ShardSet


def check_files_exist(shard_set: ShardSet, splits: Iterable[str]) -> None:
    """Compare presence and size of every shard and index of some splits with the manifest.

    Each folder is listed once, for any number of files.

    Raises:
        MissingFile: names the files that are missing and did not appear late either.
        ShardMismatch: names the first file of another size.
    """
    files = [file for split in splits for file in shard_set.split(split).files()]
    sizes: dict[Location, int] = {}
    for folder in {file.location.parent for file in files}:
        with suppress(NotFound):
            sizes.update((entry.location, entry.size) for entry in list_folder(folder))
    other = [file for file in files if sizes.get(file.location) != file.bytes]
    Patience().wait_for(file.location for file in other)
    for file in other:
        check_size(file, stat(file.location).size)
