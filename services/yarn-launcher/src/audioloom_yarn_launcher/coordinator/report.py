"""The report of a run's end, for people and for log collectors, in the form of all errors."""

import sys

import structlog
from audioloom_manifest.layout import MANIFEST_NAME
from audioloom_stage.escapes import safe_text
from audioloom_stage.logs import current_logs
from audioloom_stage.result import JSON, Result
from audioloom_storage import Location, exists

from audioloom_yarn_launcher.rendezvous.causes import Cause
from audioloom_yarn_launcher.runs.attempts import AttemptMembers
from audioloom_yarn_launcher.runs.layout import log_name
from audioloom_yarn_launcher.runs.record import check_manifest
from audioloom_yarn_launcher.system.bind_address import warning

PROGRAM = "audioloom-yarn-launcher"
MOST_LINES = 20

log = structlog.get_logger()


def report_exposed(record: AttemptMembers) -> None:
    """Warn of workers that are open to strangers, once for each reason."""
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


def result_of(folder: Location, cause: Cause | None, *, attempts: int, last: int) -> Result:
    """The result of `run` after the *attempts* of this launch; a failure is also on stderr.

    Raises:
        ManifestError: the committed manifest is damaged or forged.
    """
    manifest = folder / MANIFEST_NAME
    committed = exists(manifest)
    if committed:
        check_manifest(manifest)
    data: dict[str, JSON] = {
        "location": str(manifest if committed else folder),
        "run": folder.uri,
        "manifest": manifest.uri if committed else None,
        "attempts": attempts,
        "exit_code": cause.exit_code if cause else 0,
        "cause": cause.text if cause else None,
    }
    if cause is None:
        look = (f"{PROGRAM} status {folder}",)
        return Result(str(manifest if committed else folder), data, next=look)
    report_failure(folder, cause, last)
    return Result((), data, exit_code=cause.exit_code, problem=cause.text)
