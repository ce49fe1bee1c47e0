"""What lies under a run folder that nothing names: left by tries that died or lost a race."""

import re
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress

from audioloom_storage import (
    Entry,
    Location,
    NotAFolder,
    NotFound,
    PermissionDenied,
    finished_path,
    remove,
    stat,
    walk,
)

from audioloom_manifest.envelope import FILES_NAME, Kind
from audioloom_manifest.errors import ManifestError
from audioloom_manifest.layout import MANIFEST_NAME
from audioloom_manifest.reader import list_manifests
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
    """Files of a kind's runs under *root* that no manifest names and nobody wrote lately.

    In a committed run: whatever its manifest, its files list and its receipts do not name. In a
    run without a manifest only temporary files: the rest is what a rerun goes on from. A run whose
    manifest cannot be read is left alone: what it names is not known. A file with a name that the
    stage does not give is somebody else's, and so is whatever a link leads to.

    Args:
        root: where the kinds' folders lie; it may be a link itself.
        kind: the kind whose folder is looked through.
        is_ours: whether the stage gives this path in a run folder to a file (lists of files aside).
            A temporary file is ours if the path that it was to get is.
        older_than: seconds since the last change; younger files may belong to a running try.
        is_kept: whether a stage gives this path to a file that no manifest names and that stays. Of
            such files the temporary ones are found.
    """
    before = time.time_ns() - int(older_than * 1e9)
    for folder, found in list_manifests(root, kind):
        if isinstance(found, ManifestError):
            continue
        named = {MANIFEST_NAME}
        if found is not None:
            named |= {found.manifest.files.name, *(entry.path for entry in found.entries)}
        with suppress(PermissionDenied):  # a folder in it that its owner keeps closed
            for entry in walk(folder, within=root, links=False):
                if entry.modified_ns > before:
                    continue
                path = entry.location.relative_to(folder)
                finished = finished_path(path)
                ours = re.match(FILES_NAME, finished) is not None or is_ours(finished)
                if finished == path:
                    receipt = path.startswith(f"{RECEIPTS}/")
                    left = ours and found is not None and path not in named and not receipt
                else:
                    left = ours or is_kept(finished) or _KEPT.fullmatch(finished) is not None
                if left:
                    yield entry


def remove_garbage(root: Location, found: Iterable[Entry]) -> Iterator[Entry]:
    """Remove files below *root*, over no link; yields those that it removed itself.

    What is not as it was found stays: names come from content, so that a try which went on
    meanwhile may have written the same one anew, and need it.
    """
    for entry in found:
        with suppress(NotFound, NotAFolder):  # another gc was quicker, or a link lies on the way
            if stat(entry.location) == entry:
                remove(entry.location, within=root)
                yield entry
