"""`list`: the shards runs under a root."""

from __future__ import annotations

from audioloom_manifest import ManifestError, Opened, ShardsManifest, list_manifests
from audioloom_stage import JSON, InputMissing, Result
from audioloom_storage import Location, exists, locate

from audioloom_sharder.commands.tables import bytes_text, table
from audioloom_sharder.settings import ListSettings


def list_runs(settings: ListSettings) -> Result:
    """One line a run; what cannot be read, or was not finished, says so."""
    root = locate(settings.root)
    if not exists(root):
        raise InputMissing(expected="a root folder", found="nothing", where=root)
    rows: list[tuple[str, ...]] = []
    data: list[JSON] = []
    for folder, found in list_manifests(root, "shards"):
        if isinstance(found, Opened) and isinstance(found.manifest, ShardsManifest):
            rows.append(_row(folder, found.manifest))
            data.append(_object(folder, found.manifest))
            continue
        state = "unfinished" if found is None else _short(found)
        rows.append((folder.name, state))
        data.append({"name": folder.name, "folder": folder.uri, "state": state})
    head = ("name", "created", "records", "splits", "shards", "bytes", "inputs")
    text = table(head, rows) if rows else f"no shards under {root}"
    return Result(text=text, data={"root": root.uri, "runs": data})


def _row(folder: Location, manifest: ShardsManifest) -> tuple[str, ...]:
    splits = manifest.stats.splits
    return (
        folder.name,
        f"{manifest.created:%Y-%m-%d %H:%M}",
        f"{sum(split.records for split in splits.values()):,}",
        " ".join(f"{name}={split.records}" for name, split in splits.items()),
        f"{sum(split.shards for split in splits.values()):,}",
        bytes_text(sum(split.bytes for split in splits.values())),
        " ".join(reference.name for reference in manifest.inputs),
    )


def _object(folder: Location, manifest: ShardsManifest) -> dict[str, JSON]:
    return {
        "name": folder.name,
        "folder": folder.uri,
        "state": "committed",
        "created": manifest.created.isoformat(),
        "identity": manifest.identity,
        "records": {name: split.records for name, split in manifest.stats.splits.items()},
        "shards": {name: split.shards for name, split in manifest.stats.splits.items()},
        "inputs": [reference.identity for reference in manifest.inputs],
    }


def _short(problem: object) -> str:
    if isinstance(problem, ManifestError):
        return f"unreadable: expected {problem.expected}, found {problem.found}"
    return "not a shards run"
