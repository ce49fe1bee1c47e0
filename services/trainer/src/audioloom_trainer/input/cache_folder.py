"""Which folder of this machine a worker's copies of shards lie in."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import structlog
from audioloom_storage import is_guarded, locate

from audioloom_trainer.input.cache import Cache, readable_in_place
from audioloom_trainer.shards.shard_set import ShardSet

log = structlog.get_logger()


@contextmanager
def open_cache(
    shard_set: ShardSet,
    folder: str | None,
    limit: int,
    variables: Mapping[str, str] = os.environ,
) -> Iterator[Cache | None]:
    """The cache of this process, or None where all shards can be read in place.

    Args:
        shard_set: what is to be read.
        folder: the one that was asked for. Without it, shards that lie on no file system, or are
            compressed, are copied to the application's local folder in a YARN container (it ends
            with the application, so a restarted worker finds them again), elsewhere to a temporary
            one.
        limit: bytes that may lie in it.
        variables: of this process.
    """
    if folder is None and _all_in_place(shard_set):
        yield None
        return
    given = Path(folder).expanduser().absolute() if folder else _of_application(variables)
    with ExitStack() as stack:
        if given is None:
            made = tempfile.TemporaryDirectory(prefix="audioloom-shards-")
            given = Path(stack.enter_context(made))
        log.info("copying shards to local disk", folder=str(given))
        cache = Cache(given, limit)
        stack.callback(cache.close)
        if folder is not None and not is_guarded(locate(cache.folder)):
            log.warning(
                "others may replace what lies in this folder, or the folder: it is trained on",
                folder=str(given),
                hint="Name a --cache of your own, by a path without symbolic links.",
            )
        yield cache


def _all_in_place(shard_set: ShardSet) -> bool:
    shards = [shard for split in shard_set.splits.values() for shard in split.shards]
    return all(readable_in_place(file) for shard in shards for file in (shard.data, shard.index))


def _of_application(variables: Mapping[str, str]) -> Path | None:
    """The roomiest of the local folders that YARN gives an application, None outside of YARN."""
    named = [Path(each) for each in variables.get("LOCAL_DIRS", "").split(",") if each]
    usable = [each for each in named if each.is_dir() and os.access(each, os.W_OK)]
    if not usable:
        return None
    return max(usable, key=lambda each: shutil.disk_usage(each).free) / "audioloom-shards"
