"""Put the files of a site into a folder: a new one, or one that holds nothing but our own site."""

import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from audioloom_runs.progress import objects
from audioloom_stage.errors import NameTaken, Usage
from audioloom_storage import locate

_MARKER = "audioloom-site.json"
_KIND = "audioloom.site"
_MOST_BYTES = 64 << 20


def site_folder(text: str) -> Path:
    """The folder that `--to` names.

    Raises:
        Usage: it is not on this machine.
        NameTaken: something lies there that is not our own site, or that is more than it.
    """
    where = locate(text)
    if where.scheme != "file":
        raise Usage(
            where="--to",
            expected="a folder on this machine",
            found=where,
            hint="Write the site to a folder here, and copy it there.",
        )
    target = Path(os.path.realpath(where.path))
    _check_ours(target)
    return target


def publish(target: Path, pages: Iterable[tuple[str, str]]) -> None:
    """Write the pages beside the folder, then put them in its place.

    An earlier site is there until the new one is complete. It is looked through again before it is
    removed, and put back if something else is in it now.

    Raises:
        NameTaken: as `site_folder`.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent))
    new, old = scratch / "new", scratch / "old"
    try:
        _write(new, pages)
        with suppress(FileNotFoundError):
            target.rename(old)
        try:
            if old.exists():
                _check_ours(old, shown=target)
            new.rename(target)
        except BaseException:
            if old.exists():
                old.rename(target)
            raise
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _write(folder: Path, pages: Iterable[tuple[str, str]]) -> None:
    folder.mkdir()
    names = []
    for name, text in pages:
        where = folder / name
        where.parent.mkdir(exist_ok=True)
        where.write_text(text, encoding="utf-8")
        names.append(name)
    marker = {"kind": _KIND, "version": 1, "files": sorted(names)}
    (folder / _MARKER).write_text(json.dumps(marker), encoding="utf-8")


def _check_ours(folder: Path, shown: Path | None = None) -> None:
    if not os.path.lexists(folder) or (folder.is_dir() and not any(folder.iterdir())):
        return
    listed = _listed(folder / _MARKER)
    foreign = sorted(set(_names(folder)) - listed - {_MARKER}) if listed is not None else []
    if listed is None or foreign:
        more = f" and {len(foreign) - 1} more" if len(foreign) > 1 else ""
        raise NameTaken(
            where=shown or folder,
            expected="nothing, an empty folder, or a site that audioloom has made",
            found=f"a site with the file {foreign[0]}{more} in it" if foreign else "something else",
            hint="Nothing is overwritten: remove it, or give another --to.",
        )


def _listed(marker: Path) -> set[str] | None:
    """The files of a site by its marker; None if it is none of ours."""
    try:
        if marker.is_symlink() or marker.stat().st_size > _MOST_BYTES:
            return None
        value = next(objects([marker.read_bytes()]), {})
    except OSError:
        return None
    names = value.get("files") if value.get("kind") == _KIND else None
    return {str(name) for name in names} if isinstance(names, list) else None


def _names(folder: Path) -> Iterator[str]:
    """All files and links below a folder; no link is followed."""
    for place, folders, files in os.walk(folder):
        links = [name for name in folders if Path(place, name).is_symlink()]
        for name in (*files, *links):
            yield Path(place, name).relative_to(folder).as_posix()
