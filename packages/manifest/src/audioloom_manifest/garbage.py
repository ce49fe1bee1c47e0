"""What lies under a run folder that nothing names: left by tries that died or lost a race."""

from __future__ import annotations

import time
from collections.abc import Iterator

from audioloom_storage import Entry, Location, is_temporary, walk

from audioloom_manifest.envelope import MANIFEST_NAME, Kind
from audioloom_manifest.errors import ManifestError
from audioloom_manifest.reading import Opened, list_manifests
from audioloom_manifest.receipts import RECEIPTS


def garbage(root: Location, kind: Kind, *, older_than: float) -> Iterator[Entry]:
    """Files of a kind's runs under *root* that no manifest names and nobody wrote lately.

    In a committed run: whatever its manifest, its files list and its receipts do not name. In a
    run without a manifest only temporary files: the rest is what a rerun goes on from. A run whose
    manifest cannot be read is left alone: what it names is not known.

    Args:
        root: where the kinds' folders lie.
        kind: the kind whose folder is looked through.
        older_than: seconds since the last change; younger files may belong to a running try.
    """
    before = time.time_ns() - int(older_than * 1e9)
    for folder, found in list_manifests(root, kind):
        if isinstance(found, ManifestError):
            continue
        named = None if found is None else _named(found)
        for entry in walk(folder):
            if entry.modified_ns > before:
                continue
            path = entry.location.relative_to(folder)
            unnamed = named is not None and path not in named and not _kept(path)
            if unnamed or is_temporary(entry.location.name):
                yield entry


def _named(opened: Opened) -> set[str]:  # type: ignore[type-arg]  # any kind
    paths = {entry.path for entry in opened.files()}
    return paths | {MANIFEST_NAME, opened.manifest.files.name}


def _kept(path: str) -> bool:
    return path.startswith(f"{RECEIPTS}/")
