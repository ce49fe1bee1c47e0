"""The checks of `doctor` that every stage makes: the root of the runs, room for scratch files."""

import shutil
import tempfile
from collections.abc import Mapping
from functools import partial

from audioloom_stage.checks import AT_ONCE_S, Ask, CheckResult, look, ok, report, skipped, warning
from audioloom_stage.result import Result
from audioloom_storage import exists, list_folder, locate

LEAST_ROOM = 2 << 30
NO_ROOT = "no --root is given"


def examine(root: str | None, checks: Mapping[str, Ask], within_s: float = AT_ONCE_S) -> Result:
    """Make the checks of a stage beside those of every stage; return a line for each."""
    everywhere: dict[str, Ask] = {
        "root": partial(check_root, root),
        "scratch": partial(check_room, "scratch", tempfile.gettempdir()),
    }
    return report(look({**everywhere, **checks}, within_s))


def check_root(root: str | None) -> CheckResult:
    """Check that the storage of the root answers and, if the root is there, can be read."""
    if root is None:
        return skipped("root", NO_ROOT)
    folder = locate(root)
    if not exists(folder):
        return ok("root", f"{folder} will be made")
    for _ in list_folder(folder):
        break
    return ok("root", f"{folder} is there")


def check_room(name: str, folder: str, least: int = LEAST_ROOM) -> CheckResult:
    """Check the free space of a folder, in bytes."""
    free = shutil.disk_usage(folder).free
    told = f"{free >> 20:,} MiB free in {folder}"
    if free < least:
        hint = "Make room there, or set TMPDIR to a folder on another disk."
        return warning(name, f"{told}, expected {least >> 20:,} MiB", hint)
    return ok(name, told)
