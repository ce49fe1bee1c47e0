"""Manifests that lie: rewritten so that every checksum is right and the content is not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from audioloom_manifest.checksum import checksums_of
from audioloom_manifest.reader import Opened
from manifest_editing import edit_list


def edit_file(opened: Opened[Any], role: str, change: Callable[[bytes], bytes]) -> Path:
    """Change the first file of a role, with its entry in the list; answer where it lies."""
    entry = opened.files(role)[0]
    path = Path(opened.folder.path, entry.path)
    data = change(path.read_bytes())
    path.write_bytes(data)
    new = {"bytes": len(data), **checksums_of(data)}

    def update(entries: list[dict[str, Any]]) -> None:
        for each in entries:
            if each["path"] == entry.path:
                each.update(new)

    edit_list(opened, update)
    return path
