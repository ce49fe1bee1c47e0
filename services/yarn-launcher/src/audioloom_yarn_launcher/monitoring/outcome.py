"""The result of `run`, and the report of its failure with the first cause that `explain` finds."""

import sys

import structlog
from audioloom_manifest.layout import MANIFEST_NAME
from audioloom_runs.scores import tell_scores
from audioloom_stage.escapes import safe_text
from audioloom_stage.logs import current_logs
from audioloom_stage.result import JSON, Result
from audioloom_stage.terminal import write_line
from audioloom_storage import Location, exists

from audioloom_yarn_launcher.monitoring.failure_facts import explained
from audioloom_yarn_launcher.monitoring.run_status import read_run_status
from audioloom_yarn_launcher.monitoring.tables import arrivals_of, arrivals_table
from audioloom_yarn_launcher.rendezvous.causes import Cause
from audioloom_yarn_launcher.runs.layout import log_name
from audioloom_yarn_launcher.runs.record import check_manifest
from audioloom_yarn_launcher.settings import PROGRAM

MOST_LINES = 20

log = structlog.get_logger()


def result_of(folder: Location, cause: Cause | None = None, *, attempts: int = 0) -> Result:
    """The result of `run` after the *attempts* of this launch; a failure is also on stderr.

    ManifestError if the committed manifest is damaged or forged.
    """
    manifest = folder / MANIFEST_NAME
    committed = exists(manifest)
    training = check_manifest(manifest) if committed else None
    data: dict[str, JSON] = {
        "location": str(manifest if committed else folder),
        "run": folder.uri,
        "manifest": manifest.uri if committed else None,
        "attempts": attempts,
        "exit_code": cause.exit_code if cause else 0,
        "cause": cause.text if cause else None,
    }
    if cause is None:
        look = [f"{PROGRAM} status {folder}"]
        if training is not None:
            look.append(f"audioloom-trainer inspect {folder}")
            if attempts:
                tell_scores(training)
        return Result(str(manifest if committed else folder), data, next=tuple(look))
    return Result((), data, exit_code=cause.exit_code, problem=_report(folder, cause))


def _report(folder: Location, cause: Cause) -> str:
    """Write the first cause and the last output of its process to stderr; return the cause.

    If the gang was not complete in time, the arrivals of its workers come before them.
    """
    view = read_run_status(folder)
    for line in arrivals_table(arrivals_of(view.last)):
        sys.stderr.write(f"{line}\n")
    first, text, rank, attempt = explained(view).first, cause.text, cause.rank, view.number
    if first is not None:
        text, rank, attempt = first.text, first.rank, first.attempt
    where = folder if rank is None else folder / log_name(folder, rank, attempt)
    lines = cause.tail.splitlines()[-MOST_LINES:] if rank == cause.rank else []
    look = f"{PROGRAM} explain {folder}"
    if current_logs().as_json:
        told = {"where": str(where), "output": lines, "try": look}
        log.error(text, exit_code=cause.exit_code, **told)
        return text
    write_line(f"error: {safe_text(text)}")
    write_line(f"  where  {safe_text(where)}")
    if lines:
        write_line("  found  last output:")
    for line in lines:
        write_line(f"         | {safe_text(line)}")
    write_line(f"  try    {safe_text(look)}")
    return text
