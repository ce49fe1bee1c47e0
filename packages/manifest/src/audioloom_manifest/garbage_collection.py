"""Find and remove files that no manifest names, left by attempts that died or lost a race."""

import re
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress

from audioloom_storage import (
    Entry,
    Location,
    NotAFolder,
    NotFound,
    finished_path,
    remove,
    stat,
    walk,
)

from audioloom_manifest.envelope import Kind
from audioloom_manifest.errors import ManifestError
from audioloom_manifest.file_list import is_files_list
from audioloom_manifest.layout import MANIFEST_NAME
from audioloom_manifest.reader import Opened, list_manifests
from audioloom_manifest.receipts import RECEIPTS

_KEPT = re.compile(rf"{re.escape(MANIFEST_NAME)}|{RECEIPTS}/[^/]+\.json")


def garbage(
    root: Location,
    kind: Kind,
    is_ours: Callable[[str], bool],
    *,
    older_than: float,
    is_kept: Callable[[str], bool] = lambda _: False,
) -> Iterator[Entry]:
    """Find files of a kind's runs under *root* that no manifest names and that are old enough.

    In a committed run, these are the files that its manifest, files list and receipts do not name.
    In a run without a manifest, only temporary files count, because a rerun uses the others. A run
    whose manifest cannot be read is left alone, because the files that it names are unknown. A
    file whose name the stage does not give belongs to somebody else, like anything behind a link.

    Args:
        root: the folder that holds the kinds' folders; it may be a link itself.
        kind: the kind whose folder is searched.
        is_ours: tells whether the stage gives this path, relative to the run folder, to a file.
        It need not know lists of files. A temporary file is judged by its final path.
        older_than: seconds since the last change; younger files may belong to a running try.
        is_kept: tells whether the stage, or another that works in the folder, gives this path to
        a file that stays without a manifest. Only its temporary files are found.
    """
    before = time.time_ns() - int(older_than * 1e9)
    for folder, found in list_manifests(root, kind):
        if isinstance(found, ManifestError):
            continue
        named = None if found is None else _named(found)
        for entry in walk(folder, within=root, links=False):
            if entry.modified_ns > before:
                continue
            path = entry.location.relative_to(folder)
            finished = finished_path(path)
            ours = is_files_list(finished) or is_ours(finished)
            if finished == path:
                left = ours and named is not None and path not in named and not _kept(path)
            else:
                left = ours or is_kept(finished) or _KEPT.fullmatch(finished) is not None
            if left:
                yield entry


def remove_garbage(root: Location, found: Iterable[Entry]) -> Iterator[Entry]:
    """Remove files below *root* without following links, and yield each removed file.

    A file that changed since it was found stays. Names come from content, so a running attempt may
    have written the file again and need it.
    """
    for entry in found:
        with suppress(NotFound, NotAFolder):  # another gc was quicker, or a link lies on the way
            if stat(entry.location) == entry:
                remove(entry.location, within=root)
                yield entry


def _named(opened: Opened) -> set[str]:  # type: ignore[type-arg]  # any kind
    paths = {entry.path for entry in opened.files()}
    return paths | {MANIFEST_NAME, opened.manifest.files.name}


def _kept(path: str) -> bool:
    return path.startswith(f"{RECEIPTS}/")
