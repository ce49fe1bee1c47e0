"""`env list`: the archives of environments under a root, and how many runs use each."""

from __future__ import annotations

from datetime import UTC, datetime

from audioloom_runs.tables import table
from audioloom_stage import JSON, InputMissing, Result
from audioloom_storage import exists, locate

from audioloom_yarn_launcher.runs.archive_usage import Archive, Use, find_archives, find_uses
from audioloom_yarn_launcher.settings import EnvSettings

_COLUMNS = ("MiB", "written", "read by", "runs", "at work", "archive")


def list_environments(settings: EnvSettings) -> Result:
    """One line an archive."""
    root = locate(settings.root)
    if not exists(root):
        raise InputMissing(expected="a root folder", found="nothing", where=root)
    uses = find_uses(root)
    found = [(archive, _users(archive, uses)) for archive in find_archives(root)]
    if not found:
        return Result(f"no environments under {root}", {"root": root.uri, "environments": []})
    rows = [_row(archive, users) for archive, users in found]
    data: list[JSON] = [_data(archive, users) for archive, users in found]
    return Result(table(_COLUMNS, rows).splitlines(), {"root": root.uri, "environments": data})


def _users(archive: Archive, uses: list[Use]) -> list[Use]:
    return [use for use in uses if use.archives and archive.location.name in use.archives]


def _row(archive: Archive, users: list[Use]) -> tuple[str, ...]:
    return (
        str(archive.size >> 20),
        _when(archive),
        _readers(archive),
        str(len(users)),
        str(sum(use.at_work for use in users)),
        str(archive.location),
    )


def _data(archive: Archive, users: list[Use]) -> dict[str, JSON]:
    return {
        "environment": archive.location.uri,
        "bytes": archive.size,
        "written": _when(archive),
        "read_by": _readers(archive),
        "runs": [use.run.uri for use in users],
        "at_work": [use.run.uri for use in users if use.at_work],
    }


def _when(archive: Archive) -> str:
    return datetime.fromtimestamp(archive.modified_ns // 10**9, UTC).strftime("%Y-%m-%dT%H:%MZ")


def _readers(archive: Archive) -> str:
    if archive.shared:
        return "everybody"
    return "me" if archive.mine else "others"
