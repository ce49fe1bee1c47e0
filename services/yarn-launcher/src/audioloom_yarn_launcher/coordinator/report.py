"""The report of a run's end, for people and for log collectors, in the form of all errors."""

from __future__ import annotations

import sys

import structlog
from audioloom_stage import JSON, Result, current_logs, safe_text
from audioloom_storage import Location

from audioloom_yarn_launcher.rendezvous.causes import Cause
from audioloom_yarn_launcher.runs.attempts import AttemptMembers
from audioloom_yarn_launcher.runs.layout import log_name
from audioloom_yarn_launcher.runs.record import check_manifest
from audioloom_yarn_launcher.runs.request import Request
from audioloom_yarn_launcher.system.bind_address import warning

PROGRAM = "audioloom-yarn-launcher"
MOST_LINES = 20

log = structlog.get_logger()


def report_exposed(record: AttemptMembers) -> None:
    """Warn of workers that strangers can reach, once for each reason."""
    reasons: dict[str, list[int]] = {}
    for worker in record.workers:
        if worker.exposed:
            reasons.setdefault(worker.exposed, []).append(worker.rank)
    for reason, ranks in reasons.items():
        log.warning(warning(reason), workers=ranks)


def report_failure(folder: Location, cause: Cause, attempt: int) -> None:
    """Write the first cause and the last lines of its process to stderr."""
    where = folder if cause.rank is None else folder / log_name(folder, cause.rank, attempt)
    look = f"{PROGRAM} status {folder}"
    lines = cause.tail.splitlines()[-MOST_LINES:]
    if current_logs().as_json:
        log.error(
            cause.text,
            exit_code=cause.exit_code,
            where=str(where),
            output=lines,
            **{"try": look},
        )
        return
    lines_out = [f"error: {safe_text(cause.text)}", f"  where  {safe_text(where)}"]
    if lines:
        lines_out += ["  found  last output:", *(f"         | {safe_text(line)}" for line in lines)]
    sys.stderr.write("\n".join([*lines_out, f"  try    {safe_text(look)}", ""]))
    sys.stderr.flush()


def result_of(request: Request, cause: Cause | None, *, attempts: int, last: int) -> Result:
    """What `run` answers, after saying on stderr why it failed if it did.

    Args:
        request: what was asked for.
        cause: why it failed.
        attempts: how many this launcher made.
        last: number of the last.

    Raises:
        ManifestError: what was committed is damaged or made up.
    """
    committed = request.committed
    if committed:
        check_manifest(request.manifest)
    data: dict[str, JSON] = {
        "run": request.folder.uri,
        "manifest": request.manifest.uri if committed else None,
        "attempts": attempts,
        "exit_code": cause.exit_code if cause else 0,
        "cause": cause.text if cause else None,
    }
    if cause is None:
        look = (f"{PROGRAM} status {request.folder}",)
        return Result(str(request.manifest if committed else request.folder), data, next=look)
    report_failure(request.folder, cause, last)
    return Result((), data, exit_code=cause.exit_code)
