"""`gc`: what tries that died, or lost a race, have left under shards/."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

import structlog
from audioloom_manifest import garbage, list_manifests, remove_garbage
from audioloom_stage import JSON, Result
from audioloom_storage import Location, locate, walk

from audioloom_sharder.commands.tables import bytes_text, table
from audioloom_sharder.formats.names import is_product
from audioloom_sharder.settings import GcSettings
from audioloom_sharder.steps.job import is_between

log = structlog.get_logger()


def gc(settings: GcSettings) -> Result:
    """Find the sharder's garbage under a root; remove it when told to."""
    root = locate(settings.root)
    seconds = settings.older_than_hours * 3600
    found = list(garbage(root, "shards", is_ours, older_than=seconds))
    unfinished = list(_unfinished(root))
    removed = list(remove_garbage(root, found)) if settings.delete else []
    total = sum(entry.size for entry in (removed if settings.delete else found))
    verb = "removed" if settings.delete else "would remove"
    files = removed if settings.delete else found
    rows = [(str(entry.location), bytes_text(entry.size)) for entry in files]
    parts = [
        table(("file", "bytes"), rows) if rows else "",
        f"{verb} {len(files):,} files, {bytes_text(total)}",
        *(f"unfinished, left alone: {folder}" for folder in unfinished),
    ]
    again = ["audioloom-sharder", "gc", settings.root, "--delete"]
    if settings.older_than_hours != GcSettings.model_fields["older_than_hours"].default:
        again += ["--older-than-hours", f"{settings.older_than_hours:g}"]
    return Result(
        text="\n".join(part for part in parts if part),
        data={
            "deleted": settings.delete,
            "files": [entry.location.uri for entry in files],
            "bytes": total,
            "unfinished": _uris(unfinished),
        },
        next=() if settings.delete or not found else (shlex.join(again),),
    )


def is_ours(path: str) -> bool:
    """Whether the sharder gives a file this path below its run folder."""
    folder, _, name = path.partition("/")
    return is_product(folder, name) or is_between(path)


def _unfinished(root: Location) -> Iterator[Location]:
    """Run folders without a manifest: a rerun goes on from them."""
    for folder, opened in list_manifests(root, "shards"):
        inside = walk(folder, within=root, links=False)
        if opened is None and next(inside, None) is not None:
            yield folder


def _uris(folders: list[Location]) -> list[JSON]:
    return [folder.uri for folder in folders]
