"""Manifests that lie: rewritten so that every checksum is right and the content is not."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from audioloom_manifest import (
    ManifestError,
    Opened,
    parse_manifest,
    read_manifest,
    run_identity,
)
from audioloom_manifest.file_list import read_files


def edit_manifest(opened: Opened[Any], change: Callable[[dict[str, Any]], object]) -> None:
    """Change the fields of a manifest, in place, and its identity with them."""
    where = Path(opened.location.path)
    value = json.loads(where.read_text())
    change(value)
    where.write_text(json.dumps(value))
    with suppress(ManifestError):  # what can be read no more has no identity
        manifest = parse_manifest(where.read_bytes(), where=where)
        inputs = [each.identity for each in manifest.inputs]
        files = read_files(opened.folder, manifest.files)
        value["identity"] = run_identity(manifest.kind, manifest.recipe, inputs, files)
        where.write_text(json.dumps(value))


def edit_list(opened: Opened[Any], change: Callable[[list[dict[str, Any]]], object]) -> None:
    """Change the files list, and what the manifest says of it."""
    old = Path(opened.folder.path, read_manifest(opened.location).manifest.files.name)
    entries = [json.loads(line) for line in old.read_text().splitlines()]
    change(entries)
    lines = [json.dumps(entry, sort_keys=True, separators=(",", ":")) + "\n" for entry in entries]
    data = "".join(lines).encode()
    sha256 = hashlib.sha256(data).hexdigest()
    name = f"files-{sha256[:12]}.jsonl"
    old.with_name(name).write_bytes(data)
    ref = {"name": name, "sha256": sha256, "count": len(entries), "bytes": len(data)}
    edit_manifest(opened, lambda value: value.update(files=ref))


def edit_file(opened: Opened[Any], role: str, change: Callable[[bytes], bytes]) -> Path:
    """Change the first file of a role, with its entry in the list; answer where it lies."""
    entry = opened.files(role)[0]
    path = Path(opened.folder.path, entry.path)
    data = change(path.read_bytes())
    path.write_bytes(data)
    new = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}

    def update(entries: list[dict[str, Any]]) -> None:
        for each in entries:
            if each["path"] == entry.path:
                each.update(new)

    edit_list(opened, update)
    return path
