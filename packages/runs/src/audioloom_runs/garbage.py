"""`gc`: find unneeded entries under a root; delete them only with --delete."""

import shlex
from collections.abc import Callable, Iterable
from typing import Any

from audioloom_manifest.garbage_collection import remove_garbage
from audioloom_stage.result import Result
from audioloom_stage.terminal import counted
from audioloom_storage import Location

from audioloom_runs.run_list import open_root
from audioloom_runs.settings import GcSettings
from audioloom_runs.tables import size_text


def collect_garbage(
    program: str,
    settings: GcSettings,
    find: Callable[[Location, float], Iterable[Any]],
    *,
    remove: Callable[[Location, Iterable[Any]], Iterable[Any]] = remove_garbage,
) -> Result:
    """Show garbage, and delete it if the settings say so.

    Args:
        program: the words of the command: `audioloom-sharder gc`.
        settings: they name the root.
        find: returns the garbage under a root that did not change for so many seconds: entries of
            the storage, or what has a `location` and a `size` as they do.
        remove: removes files below a root, and returns the files that it removed itself; by default
            the files that have not changed since they were found.

    Raises:
        InputMissing: there is no such root.
    """
    root = open_root(settings)
    found = list(find(root, settings.older_than))
    if settings.delete:
        found = list(remove(root, found))
    size = sum(entry.size for entry in found)
    verb = "deleted" if settings.delete else "would delete"
    return Result(
        [
            *(str(entry.location) for entry in found),
            f"{verb} {counted(len(found), 'files')}, {size_text(size)}",
        ],
        {
            "root": str(root),
            "deleted": settings.delete,
            "files": [str(entry.location) for entry in found],
            "bytes": size,
        },
        next=() if settings.delete or not found else (_again(program, settings),),
    )


def _again(program: str, settings: GcSettings) -> str:
    words = [*program.split(), "--root", settings.root, "--delete"]
    if settings.older_than != GcSettings.model_fields["older_than"].default:
        words += ["--older-than", settings.older_than.text]
    return shlex.join(words)
