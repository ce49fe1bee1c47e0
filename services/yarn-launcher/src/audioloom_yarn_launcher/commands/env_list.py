"""`env list`: the archives of environments under a root, and how many runs use each."""

from audioloom_runs.roots import open_root
from audioloom_runs.run_list import date_text
from audioloom_runs.settings import ListSettings
from audioloom_runs.tables import size_text, table
from audioloom_stage import JSON, Result, result_columns

from audioloom_yarn_launcher.runs.archive_usage import Archive, Use, find_archives, find_uses

_COLUMNS = ("bytes", "changed", "read by", "runs", "at work", "archive")


def list_environments(settings: ListSettings) -> Result:
    """List the archives, one a line."""
    root = open_root(settings)
    uses = find_uses(root)
    found = [(archive, _users(archive, uses)) for archive in find_archives(root)]
    text = f"no environments under {root}"
    if found:
        rows = [_row(archive, users) for archive, users in found]
        text = table(_COLUMNS, rows, columns=result_columns())
    data: list[JSON] = [_data(archive, users) for archive, users in found]
    return Result(text, {"root": str(root), "environments": data})


def _users(archive: Archive, uses: list[Use]) -> list[Use]:
    return [use for use in uses if use.archives and archive.location.name in use.archives]


def _row(archive: Archive, users: list[Use]) -> tuple[str, ...]:
    return (
        size_text(archive.size),
        date_text(archive.modified_ns)[:16].replace("T", " "),
        _readers(archive),
        str(len(users)),
        str(sum(use.at_work for use in users)),
        str(archive.location),
    )


def _data(archive: Archive, users: list[Use]) -> dict[str, JSON]:
    return {
        "location": str(archive.location),
        "changed": date_text(archive.modified_ns),
        "bytes": archive.size,
        "read_by": _readers(archive),
        "runs": [str(use.run) for use in users],
        "at_work": [str(use.run) for use in users if use.at_work],
    }


def _readers(archive: Archive) -> str:
    if archive.shared:
        return "everybody"
    return "me" if archive.mine else "others"
