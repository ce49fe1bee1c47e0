"""Manifests that lie: rewritten so that every digest is right and the content is not."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from audioloom_manifest.envelope import FileEntry
from audioloom_manifest.identity import run_identity
from audioloom_manifest.reader import Opened


def write_manifest(
    folder: Path, value: Mapping[str, Any], entries: Sequence[FileEntry | dict[str, Any]] = ()
) -> str:
    """Write a manifest and its list of these files, as a stage would; answer the identity."""
    folder.mkdir(parents=True, exist_ok=True)
    listed = [
        each.model_dump(mode="json", exclude_none=True) if isinstance(each, FileEntry) else each
        for each in entries
    ]
    listed.sort(key=lambda entry: str(entry["path"]))
    lines = [json.dumps(each, sort_keys=True, separators=(",", ":")) + "\n" for each in listed]
    data = "".join(lines).encode()
    sha256 = hashlib.sha256(data).hexdigest()
    name = f"files-{sha256[:12]}.jsonl"
    (folder / name).write_bytes(data)
    ref = {"name": name, "sha256": sha256, "count": len(listed), "bytes": len(data)}
    whole = {**value, "files": ref}
    whole["identity"] = run_identity(whole, data)
    (folder / "manifest.json").write_text(json.dumps(whole))
    return str(whole["identity"])


def edit_manifest(opened: Opened[Any], change: Callable[[dict[str, Any]], object]) -> None:
    """Change the fields of a manifest, in place, and its identity with them."""
    where = Path(opened.location.path)
    value = json.loads(where.read_text())
    change(value)
    where.write_text(json.dumps(value))
    with suppress(KeyError, TypeError, FileNotFoundError):  # then it has no identity
        listed = where.with_name(value["files"]["name"]).read_bytes()
        value["identity"] = run_identity(value, listed)
        where.write_text(json.dumps(value))


def edit_list(opened: Opened[Any], change: Callable[[list[dict[str, Any]]], object]) -> None:
    """Change the list of files, and what the manifest says of it."""
    folder = Path(opened.folder.path)
    value = json.loads((folder / "manifest.json").read_text())
    entries = [
        json.loads(line) for line in (folder / value["files"]["name"]).read_text().splitlines()
    ]
    change(entries)
    write_manifest(folder, value, entries)
